/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/loader_protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for one descriptor more than is ever sent: what is too much shows. */
#define CONTROL_FDS (LOADER_FDS_MAX + 1)

union control {
	char bytes[CMSG_SPACE(CONTROL_FDS * sizeof(int))];
	struct cmsghdr align;
};

void loader_close_fds(const int *fds, unsigned nr_fds)
{
	for (unsigned i = 0; i < nr_fds; i++)
		close(fds[i]);
}

int loader_put(int socket, const void *message, size_t size, const int *fds, unsigned nr_fds)
{
	struct iovec part = { .iov_base = (void *)message, .iov_len = size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control;
	ssize_t sent;

	if (nr_fds > LOADER_FDS_MAX)
		return -EINVAL;
	if (nr_fds > 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nr_fds * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &m, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* All descriptors of a message, at most CONTROL_FDS of them fit. */
static unsigned take_fds(struct msghdr *m, int *ret)
{
	unsigned nr = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		size_t bytes;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    c->cmsg_len < CMSG_LEN(0))
			continue;
		bytes = c->cmsg_len - CMSG_LEN(0);
		for (size_t at = 0; at + sizeof(int) <= bytes && nr < CONTROL_FDS;
		     at += sizeof(int))
			memcpy(&ret[nr++], CMSG_DATA(c) + at, sizeof(int));
	}
	return nr;
}

int loader_get(int socket, void *message, size_t size, int *ret_fds, unsigned fds_max,
	       unsigned *ret_nr_fds)
{
	struct iovec part = { .iov_base = message, .iov_len = size };
	union control control;
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int fds[CONTROL_FDS];
	ssize_t got;
	unsigned nr;

	/* That the other end died with something unread is told once, before what it sent. */
	do {
		got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == ECONNRESET);
	if (got < 0)
		return -errno;
	nr = take_fds(&m, fds);
	if (got == 0 && nr == 0)
		return 0;
	if ((size_t)got != size || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || nr > fds_max) {
		loader_close_fds(fds, nr);
		return -EBADMSG;
	}
	if (nr > 0)
		memcpy(ret_fds, fds, nr * sizeof(int));
	*ret_nr_fds = nr;
	return 1;
}
