/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something failed, as one sentence for a person: what happened, why, and
 * the command that mends it.  Lower layers fill one and return an errno; only
 * session and main print.
 */
#ifndef PTOP_BASE_REASON_H
#define PTOP_BASE_REASON_H

struct reason {
	char text[320];
};

/*
 * Sets the sentence (no newline, cut to fit) and returns @err, so that `return reason_set(...)`
 * fails in one line.  @why may be NULL, and its old text may be among the arguments.
 */
__attribute__((format(printf, 3, 4))) int reason_set(struct reason *why, int err,
						     const char *format, ...);

#endif
