/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images by identity.  A file is its (device, inode, generation), else its build-id, else its path.
 * /proc/PID/maps does not tell the generation, and an inode number comes again once its file is
 * gone: an unknown generation matches a known one only under the same path, and then takes it over.
 */
#include <errno.h>
#include <string.h>

#include "space/state.h"

static bool begins(const char *name, size_t size, const char *with)
{
	size_t len = strlen(with);

	return size >= len && !memcmp(name, with, len);
}

bool name_is_anon(const char *name, size_t size)
{
	return !size || begins(name, size, "//anon") || begins(name, size, "[heap]") ||
	       begins(name, size, "[stack") || begins(name, size, "[anon");
}

bool name_is_vdso(const char *name, size_t size)
{
	return size == 6 && !memcmp(name, "[vdso]", 6);
}

static uint64_t hash_text(uint64_t h, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3ull;
	return hash_u64(h);
}

static uint64_t key_hash(const struct space *s, const struct image_key *key)
{
	const char *path = strpool_get(s->strings, key->path);

	if (key->ino)
		return hash_u64(hash_u64(((uint64_t)key->maj << 32 | key->min) + 1) ^ key->ino);
	if (key->build_id_size)
		return hash_text(2, (const char *)key->build_id, key->build_id_size);
	return hash_text(3, path, strlen(path));
}

/* Bytes of a path without the " (deleted)" that the kernel adds once a file is unlinked. */
static size_t path_size(const char *path)
{
	static const char gone[] = " (deleted)";
	size_t size = strlen(path), cut = sizeof(gone) - 1;

	return size > cut && !memcmp(path + size - cut, gone, cut) ? size - cut : size;
}

static bool same_path(const struct space *s, uint32_t a, uint32_t b)
{
	const char *x = strpool_get(s->strings, a), *y = strpool_get(s->strings, b);
	size_t size = path_size(x);

	return a == b || (size == path_size(y) && !memcmp(x, y, size));
}

static bool same_file(const struct space *s, const struct image_key *a, const struct image_key *b)
{
	if (a->kind != b->kind || a->ino != b->ino)
		return false;
	if (a->ino) {
		if (a->maj != b->maj || a->min != b->min)
			return false;
		if (a->ino_generation && b->ino_generation)
			return a->ino_generation == b->ino_generation;
		return same_path(s, a->path, b->path);
	}
	if (a->build_id_size || b->build_id_size)
		return a->build_id_size == b->build_id_size &&
		       !memcmp(a->build_id, b->build_id, a->build_id_size);
	return a->path == b->path;
}

/* A free id that holds @key; NONE without memory. */
static uint32_t image_new(struct space *s, const struct image_key *key)
{
	struct image made = { .key = *key, .next = NONE, .used = true };
	uint32_t at = s->free_image;

	if (at != NONE) {
		s->free_image = s->images.at[at].next;
		s->images.at[at] = made;
	} else {
		at = (uint32_t)s->images.nr;
		if (at >= NONE - IMAGE_FIRST || vec_push(&s->images, made))
			return NONE;
	}
	return at + IMAGE_FIRST;
}

uint32_t image_file(struct space *s, const struct image_key *key)
{
	uint64_t hash = key_hash(s, key);
	uint64_t *first = map_find(&s->files, hash);
	uint32_t image;

	for (uint32_t at = first ? (uint32_t)*first : NONE; at != NONE;
	     at = s->images.at[at].next) {
		struct image *i = &s->images.at[at];

		if (!same_file(s, &i->key, key))
			continue;
		if (!i->key.ino_generation)
			i->key.ino_generation = key->ino_generation;
		return at + IMAGE_FIRST;
	}
	if (!first && map_set(&s->files, hash, NONE))
		return NONE;
	image = image_new(s, key);
	first = map_find(&s->files, hash);
	if (image == NONE) {
		if (*first == NONE)
			map_remove(&s->files, hash);
		return NONE;
	}
	s->images.at[image - IMAGE_FIRST].next = (uint32_t)*first;
	*first = image - IMAGE_FIRST;
	return image;
}

uint32_t image_anon(struct space *s, uint32_t process)
{
	struct process *p = &s->processes.at[process];
	struct image_key key = { .kind = IMAGE_ANON, .process = process, .pid = p->pid };

	if (p->anon_image == NONE)
		p->anon_image = image_new(s, &key);
	return p->anon_image;
}

void image_release(struct space *s, uint32_t image)
{
	uint32_t at = image - IMAGE_FIRST;
	struct image *i = &s->images.at[at];

	if (i->key.kind != IMAGE_ANON) {
		uint64_t hash = key_hash(s, &i->key);
		uint64_t *first = map_find(&s->files, hash);
		uint32_t before = (uint32_t)*first;

		if (before == at) {
			*first = i->next;
		} else {
			while (s->images.at[before].next != at)
				before = s->images.at[before].next;
			s->images.at[before].next = i->next;
		}
		if (*first == NONE)
			map_remove(&s->files, hash);
	}
	*i = (struct image){ .next = s->free_image };
	s->free_image = at;
}

int map_from(struct space *s, uint32_t process, const struct map_source *from, struct mapping *ret)
{
	struct mapping m = { from->start, from->end, from->pgoff, NONE };
	struct image_key key = from->key;
	bool nameless = !key.ino && !key.build_id_size;

	if (m.start >= m.end)
		return -EINVAL;
	key.kind = IMAGE_FILE;
	key.process = NONE;
	if (nameless && name_is_anon(from->path, from->path_size)) {
		m.pgoff = m.start; /* so that the offset is the address */
		m.image = image_anon(s, process);
	} else {
		/* A 32-bit process has another vdso than ours: no kind of its own, and no names. */
		if (nameless && name_is_vdso(from->path, from->path_size) && m.start >> 32) {
			key.kind = IMAGE_VDSO;
			m.pgoff = 0;
		}
		key.path = strpool_add(s->strings, from->path, from->path_size);
		if (key.path != NONE)
			m.image = image_file(s, &key);
	}
	if (m.image == NONE)
		return -ENOMEM;
	*ret = m;
	return 0;
}
