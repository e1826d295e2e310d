/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xz decompression of .gnu_debugdata ("mini debug info": a small ELF file with the symbols that
 * .dynsym lacks), with bounds on what it may cost.
 */
#ifndef PTOP_IMAGE_UNPACK_H
#define PTOP_IMAGE_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Unpacks @size bytes into a malloc'd buffer of at most @max bytes.  0, -EBADMSG (damaged), -EFBIG
 * (more than
 * @max, or the stream asks for more than 64 MiB of working memory), -ENOMEM.
 */
int unpack_xz(const uint8_t *bytes, size_t size, size_t max, uint8_t **ret_bytes, size_t *ret_size);

#endif
