/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output goes through an open file description of its own that does not block: a terminal that was
 * stopped (Ctrl-S) or a link that stalls must not stop sampling, and O_NONBLOCK on the caller's
 * descriptor would reach the shell.
 */
#include "screen/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "screen/terminal.h"

#define GOODBYE_MS 200 /* how long to wait for a stalled terminal at the end */

/* What a handler of a fatal signal needs; set while a screen is taken. */
static struct {
	volatile int taken;
	int in_fd, out_fd;
	struct termios saved;
	char bytes[256];
	size_t nr;
} emergency;

static void measure(struct screen *s, int *ret_rows, int *ret_columns)
{
	struct winsize size = { 0 };

	if (ioctl(s->in_fd, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col) {
		size.ws_row = (unsigned short)(s->info.rows > 0 ? s->info.rows : 24);
		size.ws_col = (unsigned short)(s->info.columns > 0 ? s->info.columns : 80);
	}
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
}

static int colours_of(const struct screen *s, enum screen_colour wish)
{
	const char *no = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
	int most = s->info.colours;

	if (wish == SCREEN_COLOUR_NONE || (wish == SCREEN_COLOUR_AUTO && no && *no))
		return 0;
	if (wish == SCREEN_COLOUR_8)
		return most < 8 ? most : 8;
	return most;
}

static int goodbye(struct screen *s, struct bytes *out)
{
	int err = terminfo_put(&s->info, out, CAP_PLAIN);

	if (!err &&
	    s->info.caps[CAP_GOTO]) /* terminals without a second page end below the picture */
		err = terminfo_put2(&s->info, out, CAP_GOTO, s->rows - 1, 0);
	if (!err && !s->info.caps[CAP_LEAVE])
		err = terminfo_put(&s->info, out, CAP_ERASE_LINE);
	if (!err)
		err = terminfo_put(&s->info, out, CAP_KEYS_OFF);
	if (!err)
		err = terminfo_put(&s->info, out, CAP_SHOW_CURSOR);
	if (!err)
		err = terminfo_put(&s->info, out, CAP_LEAVE);
	return err;
}

static void arm_emergency(struct screen *s)
{
	struct bytes out = { 0 };

	emergency.taken = 0;
	emergency.in_fd = s->in_fd;
	emergency.out_fd = s->out_fd;
	emergency.saved = s->saved;
	if (!goodbye(s, &out) && out.nr <= sizeof(emergency.bytes)) {
		memcpy(emergency.bytes, out.at, out.nr);
		emergency.nr = out.nr;
	}
	emergency.taken = 1;
	vec_done(&out);
}

void screen_restore_in_signal(void)
{
	if (!emergency.taken)
		return;
	emergency.taken = 0;
	if (write(emergency.out_fd, emergency.bytes, emergency.nr) < 0) {
		/* nothing more can be done about the picture; the modes below still matter */
	}
	tcsetattr(emergency.in_fd, TCSANOW, &emergency.saved);
}

static int take(struct screen *s)
{
	struct termios raw = s->saved;
	int err;

	/*
	 * Ctrl-C and Ctrl-Z are keys: as signals they would also reach a command that ptop runs.
	 * Ctrl-S must not stop output, Enter must differ from Ctrl-J.
	 */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR | ISTRIP | BRKINT);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(s->in_fd, TCSANOW, &raw))
		return -errno;
	s->taken = true;
	s->out.nr = s->sent = 0;
	arm_emergency(s);
	err = terminfo_put(&s->info, &s->out, CAP_ENTER);
	if (!err)
		err = terminfo_put(&s->info, &s->out, CAP_KEYS_ON);
	if (!err)
		err = terminfo_put(&s->info, &s->out, CAP_HIDE_CURSOR);
	s->cursor_shown = false;
	screen_repaint(s);
	return err ? err : screen_flush(s);
}

static void give_back(struct screen *s)
{
	struct pollfd p = { .fd = s->out_fd, .events = POLLOUT };

	if (!s->taken)
		return;
	s->taken = false;
	emergency.taken = 0;
	/* What was not sent of a picture may end inside a sequence: it goes out first, if it goes
	 * at all. */
	if (!goodbye(s, &s->out)) {
		int err = screen_flush(s);

		while (!err && s->sent < s->out.nr && poll(&p, 1, GOODBYE_MS) > 0)
			err = screen_flush(s);
	}
	s->out.nr = s->sent = 0;
	tcsetattr(s->in_fd, TCSANOW, &s->saved);
}

static void own_output(struct screen *s, int fd)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	s->own_out = own >= 0;
	s->out_fd = own >= 0 ? own : fd; /* after su(1) the terminal may be another user's */
}

int screen_open(const struct screen_options *o, struct screen **ret, struct reason *why)
{
	struct screen *s;
	int err;

	if (!isatty(o->in_fd) || !isatty(o->out_fd))
		return reason_set(why, -ENOTTY, "%s is no terminal: use -b for text output.",
				  isatty(o->in_fd) ? "Standard output" : "Standard input");
	s = calloc(1, sizeof(*s));
	if (!s)
		return reason_set(why, -ENOMEM, "Out of memory.");
	err = terminfo_init(&s->info, o->out_fd, why);
	if (err) {
		free(s);
		return err;
	}
	s->in_fd = o->in_fd;
	s->utf8 = !strcasecmp(nl_langinfo(CODESET), "UTF-8");
	s->ascii = o->ascii || !s->utf8;
	s->colours = colours_of(s, o->colour);
	s->row = -1;
	measure(s, &s->rows, &s->columns);
	own_output(s, o->out_fd);
	if (tcgetattr(s->in_fd, &s->saved))
		err = -errno;
	if (!err)
		err = take(s);
	if (err) {
		screen_close(s);
		return reason_set(why, err, "The terminal cannot be set up: %s.", strerror(-err));
	}
	*ret = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	give_back(s);
	if (s->own_out)
		close(s->out_fd);
	canvas_done(&s->front);
	vec_done(&s->out);
	terminfo_done(&s->info);
	free(s);
}

bool screen_ascii(const struct screen *s)
{
	return s->ascii;
}

void screen_size(const struct screen *s, int *ret_rows, int *ret_columns)
{
	*ret_rows = s->rows;
	*ret_columns = s->columns;
}

bool screen_resize(struct screen *s)
{
	int rows, columns;

	measure(s, &rows, &columns);
	if (rows == s->rows && columns == s->columns)
		return false;
	s->rows = rows;
	s->columns = columns;
	if (s->taken)
		arm_emergency(s);
	screen_repaint(s);
	return true;
}

void screen_repaint(struct screen *s)
{
	s->whole = true;
	s->look_known = false;
	s->row = -1;
}

void screen_suspend(struct screen *s)
{
	give_back(s);
}

void screen_resume(struct screen *s)
{
	if (s->taken)
		return;
	/* The shell may have left other modes than it had at our start: those are the ones to give
	 * back. */
	if (tcgetattr(s->in_fd, &s->saved) || take(s))
		s->keys.hung_up = true;
	screen_resize(s);
}

uint64_t screen_bytes(const struct screen *s)
{
	return s->bytes;
}
