// The limit for echoes and chunks by epoll: one thread, level-triggered, one read and one write per wake-up of a
// connection. It answers with what it has received; with -chunks with a mebibyte for each byte of that, which are those of
// bench/load's payload.go.
#include "plain.h"
#include <stdint.h>
#include <sys/epoll.h>

enum { ROOM = 256 << 10, CHUNK = 1 << 20, VARIANTS = 256, MARK = 'B', EVENTS = 1024 };

// A connection that has sent all owns no memory. One that has not reads nothing.
struct conn {
	int fd;
	char *own;        // received, and not answered in full
	const char *at;   // what is unsent of the answer that has begun
	size_t left;      // of that
	size_t next, all; // with -chunks: which bytes of own are to be answered
};

static int ep;
static char in[ROOM], *chunks; // chunks: NULL: echo

static void fill(void) {
	if (!(chunks = malloc(CHUNK + VARIANTS))) die("malloc");
	uint64_t x = 0x9E3779B97F4A7C15;
	for (size_t i = 0; i < CHUNK + VARIANTS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		unsigned char b = (unsigned char)(x >> 32);
		chunks[i] = (char)(b == MARK ? b + 1 : b);
	}
}

static void drop(struct conn *c) {
	close(c->fd);
	free(c->own);
	free(c);
}

static void watch(struct conn *c, int op, unsigned events) {
	struct epoll_event e = {.events = events, .data.ptr = c};
	if (epoll_ctl(ep, op, c->fd, &e)) die("epoll_ctl");
}

// Sends until all is sent, 1, or the socket is full, 0.
static int push(struct conn *c, const char *received) {
	for (;;) {
		while (c->left) {
			ssize_t n = send(c->fd, c->at, c->left, MSG_NOSIGNAL);
			if (n < 0) return errno == EAGAIN ? 0 : -1;
			c->at += n;
			c->left -= (size_t)n;
		}
		if (c->next == c->all) return 1;
		c->at = chunks + (unsigned char)received[c->next++];
		c->left = CHUNK;
	}
}

static int readable(struct conn *c) {
	ssize_t n = recv(c->fd, in, ROOM, 0);
	if (n < 0 && errno == EAGAIN) return 0;
	if (n <= 0) return -1;
	c->at = in;
	c->left = chunks ? 0 : (size_t)n;
	c->next = 0;
	c->all = chunks ? (size_t)n : 0;
	int done = push(c, in);
	if (done) return done < 0 ? -1 : 0;
	size_t rest = chunks ? (size_t)n : c->left;
	if (!(c->own = malloc(rest))) die("malloc");
	memcpy(c->own, chunks ? in : c->at, rest);
	if (!chunks) c->at = c->own;
	watch(c, EPOLL_CTL_MOD, EPOLLOUT);
	return 0;
}

static int writable(struct conn *c) {
	int done = push(c, c->own);
	if (done <= 0) return done;
	free(c->own);
	c->own = NULL;
	watch(c, EPOLL_CTL_MOD, EPOLLIN);
	return 0;
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
	if (argc > 1 && strcmp(argv[1], "-chunks") == 0) {
		fill();
		argv[1] = argv[0];
		argc--, argv++;
	}
	struct conn listener = {.fd = start(argc, argv, SOCK_NONBLOCK)};
	if ((ep = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
	watch(&listener, EPOLL_CTL_ADD, EPOLLIN);
	static struct epoll_event ev[EVENTS];
	for (;;) {
		int n = epoll_wait(ep, ev, EVENTS, -1);
		if (n < 0 && errno != EINTR) die("epoll_wait");
		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;
			if (c == &listener) accept_all(c->fd);
			else if ((c->own ? writable(c) : readable(c)) < 0) drop(c);
		}
	}
}
