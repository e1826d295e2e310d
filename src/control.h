/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keys change of a running session: event, rate, kernel and user.
 */
#ifndef PTOP_CONTROL_H
#define PTOP_CONTROL_H

#include "event/probe.h"
#include "session.h"
#include "view/ui.h"

struct control {
	struct session *session;
	struct probed *events; /* what this machine can open; NULL until it was asked for */
	size_t nr_events;
};

void control_done(struct control *c);

/* Fills the event menu.  0 or -ENOMEM. */
int control_menu(struct control *c, struct ui *ui);

/*
 * Carries out a wish that concerns sampling.  0, or -errno with a sentence for the screen; -ENOTSUP
 * for wishes of another kind.  Once the target has ended nothing is sampled: kernel and user then
 * only change what is shown, which the view has done already.
 */
int control_apply(struct control *c, const struct ui_control *wish, struct reason *why);

#endif
