// What both C servers share: the command line, the listener, and the same minimal plaintext handler that
// the Go peers run (bench/peers/internal/plain): find the ends of request heads, check the path, answer.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_HEAD = 8 << 10, MAX_ANSWER = 160 };

static char response[MAX_ANSWER];
static size_t response_len;

static void die(const char *what) {
	perror(what);
	exit(1);
}

// Renders the answer when the second has changed. Called once per wake-up, not per request.
static void tick(void) {
	static time_t last;
	time_t now = time(NULL);
	if (now == last) return;
	last = now;
	char date[32];
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
	response_len = (size_t)snprintf(response, sizeof response,
		"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nDate: %s\r\n"
		"Content-Length: 13\r\n\r\nHello, World!", date);
}

static const char *head_end(const char *p, size_t n) {
	const char *stop = p + n;
	while (stop - p >= 4 && (p = memchr(p, '\r', (size_t)(stop - p) - 3)) != NULL) {
		if (memcmp(p, "\r\n\r\n", 4) == 0) return p;
		p++;
	}
	return NULL;
}

// Answers the complete requests in in[0..n), writing up to cap bytes of answers to out. Returns how much of
// in was used. It stops early when out is full: call again once out has been sent.
static inline size_t answer(const char *in, size_t n, char *out, size_t cap, size_t *out_len) {
	static const char not_found[] = "HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 0\r\n\r\n";
	static const char path[] = "GET /plaintext ";
	size_t used = 0;
	while (*out_len + MAX_ANSWER <= cap) {
		const char *head = in + used, *end = head_end(head, n - used);
		if (!end) break;
		int ok = end - head >= (ptrdiff_t)sizeof path && memcmp(head, path, sizeof path - 1) == 0;
		const char *a = ok ? response : not_found;
		size_t len = ok ? response_len : sizeof not_found - 1;
		memcpy(out + *out_len, a, len);
		*out_len += len;
		used = (size_t)(end - in) + 4;
	}
	return used;
}

// Parses -addr, listens, prints where.
static int start(int argc, char **argv, int flags) {
	const char *addr = "127.0.0.1:0";
	if (argc == 3 && strcmp(argv[1], "-addr") == 0) addr = argv[2];
	else if (argc != 1) fprintf(stderr, "usage: %s [-addr IPV4:PORT]\n", argv[0]), exit(2);
	char host[64];
	int port;
	struct sockaddr_in sa = {.sin_family = AF_INET};
	if (sscanf(addr, "%63[0-9.]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &sa.sin_addr) != 1)
		fprintf(stderr, "bad address %s: want IPV4:PORT\n", addr), exit(2);
	sa.sin_port = htons((unsigned short)port);

	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);

	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0) die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); // accepted sockets inherit it
	socklen_t len = sizeof sa;
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa) || listen(fd, 4096)) die("listen");
	getsockname(fd, (struct sockaddr *)&sa, &len);
	printf("listening on %s:%d\n", inet_ntoa(sa.sin_addr), ntohs(sa.sin_port));
	fflush(stdout);
	tick();
	return fd;
}
