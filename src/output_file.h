/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that ptop makes: always anew, mode 0600, never through a symbolic link, and nowhere but in
 * the folder that was named.
 *
 * output_begin() makes it under a passing name (".ptop-" and eight digits), output_publish() gives
 * it its own as soon as it makes sense; what had that name before is FILE.old from then on.
 */
#ifndef PTOP_OUTPUT_FILE_H
#define PTOP_OUTPUT_FILE_H

#include <stdint.h>

#include "base/reason.h"

struct output_file {
	int folder_fd; /* -1: none */
	int fd;        /* of the file itself, until output_take(); -1 */
	char name[256];
	char passing[32]; /* its name until it is published; "" from then on */
};

/* 0, or -errno with a sentence (then nothing is left). */
int output_begin(struct output_file *f, const char *path, struct reason *why);

/* The descriptor, to write to and read from: the caller's from then on. */
int output_take(struct output_file *f);

/* 0, or -errno with a sentence: the file is gone then.  Ends @f. */
int output_publish(struct output_file *f, const char *path, struct reason *why);

/* Without output_publish() before: the file is removed.  Ends @f. */
void output_abandon(struct output_file *f);

/* A new file in the working directory, for which nothing has to make room: a descriptor or -errno.
 */
int output_new(const char *path);

#endif
