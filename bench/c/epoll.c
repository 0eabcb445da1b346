// The limit for epoll: one thread, level-triggered, one read and one write per wake-up of a connection.
#include "plain.h"
#include <sys/epoll.h>

enum { IN = MAX_HEAD, OUT = 64 << 10, EVENTS = 1024 };

// A connection that has nothing left over owns no buffers.
struct conn {
	int fd;
	size_t in_len, out_len; // unanswered bytes, unsent bytes
	char *in, *out;         // IN and OUT bytes, allocated when first needed
};

static int ep;
static char in[IN], out[OUT];

static void drop(struct conn *c) {
	close(c->fd);
	free(c->in);
	free(c->out);
	free(c);
}

static void watch(struct conn *c, int op, unsigned events) {
	struct epoll_event e = {.events = events, .data.ptr = c};
	if (epoll_ctl(ep, op, c->fd, &e)) die("epoll_ctl");
}

// Keeps n bytes of from in *to, which may overlap it.
static void keep(char **to, size_t cap, const char *from, size_t n, size_t *len) {
	if (n && !*to && !(*to = malloc(cap))) die("malloc");
	if (n) memmove(*to, from, n);
	*len = n;
}

// Answers n bytes at from and sends; while the socket is full it waits for EPOLLOUT and reads nothing.
static int reply(struct conn *c, const char *from, size_t n) {
	for (;;) {
		size_t len = 0, used = answer(from, n, out, OUT, &len);
		from += used;
		n -= used;
		if (!len) break;
		ssize_t sent = send(c->fd, out, len, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN) return -1;
		size_t done = sent < 0 ? 0 : (size_t)sent;
		if (done < len) {
			keep(&c->out, OUT, out + done, len - done, &c->out_len);
			watch(c, EPOLL_CTL_MOD, EPOLLOUT);
			break;
		}
	}
	if (n >= IN) return -1; // a head without end
	keep(&c->in, IN, from, n, &c->in_len);
	return 0;
}

static int readable(struct conn *c) {
	char *to = c->in_len ? c->in : in;
	ssize_t n = recv(c->fd, to + c->in_len, IN - c->in_len, 0);
	if (n < 0 && errno == EAGAIN) return 0;
	if (n <= 0) return -1;
	return reply(c, to, c->in_len + (size_t)n);
}

static int writable(struct conn *c) {
	ssize_t n = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
	if (n < 0) return errno == EAGAIN ? 0 : -1;
	keep(&c->out, OUT, c->out + n, c->out_len - (size_t)n, &c->out_len);
	if (c->out_len) return 0;
	watch(c, EPOLL_CTL_MOD, EPOLLIN);
	return reply(c, c->in, c->in_len);
}

static void accept_all(int listener) {
	int fd;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct conn *c = calloc(1, sizeof *c);
		if (!c) die("calloc");
		c->fd = fd;
		watch(c, EPOLL_CTL_ADD, EPOLLIN);
	}
}

int main(int argc, char **argv) {
	struct conn listener = {.fd = start(argc, argv, SOCK_NONBLOCK)};
	if ((ep = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
	watch(&listener, EPOLL_CTL_ADD, EPOLLIN);
	static struct epoll_event ev[EVENTS];
	for (;;) {
		int n = epoll_wait(ep, ev, EVENTS, -1);
		if (n < 0 && errno != EINTR) die("epoll_wait");
		tick();
		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;
			if (c == &listener) accept_all(c->fd);
			else if ((c->out_len ? writable(c) : readable(c)) < 0) drop(c);
		}
	}
}
