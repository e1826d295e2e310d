/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interned strings: equal strings get equal 32-bit ids, id 0 is "".  Strings
 * live as long as the pool and never move.
 */
#ifndef PTOP_BASE_STRPOOL_H
#define PTOP_BASE_STRPOOL_H

#include <stddef.h>
#include <stdint.h>

struct strpool;

struct strpool *strpool_new(void); /* NULL without memory */
void strpool_free(struct strpool *p);

/* Copies @len bytes and interns them.  Returns the id, or UINT32_MAX without memory. */
uint32_t strpool_add(struct strpool *p, const char *text, size_t len);

/* The string of an id given out by strpool_add(), NUL-terminated; "" for ids it does not know. */
const char *strpool_get(const struct strpool *p, uint32_t id);

size_t strpool_count(const struct strpool *p);
size_t strpool_bytes(const struct strpool *p); /* memory held */

#endif
