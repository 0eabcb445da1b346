// The limit for io_uring: one thread, one ring, raw system calls. Multishot accept and recv into a provided
// buffer ring; all that one batch of completions answers on a connection leaves as one send, and one
// io_uring_enter submits the batch and waits for the next.
#include "plain.h"
#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { ENTRIES = 4096, CQ_ENTRIES = 16384, BUFS = 4096, BUF = 2048, OUT = 4 << 10, MAX_IN = 1 << 20 };
enum { ACCEPT, RECV, SEND }; // the low bits of user_data; the rest is the connection

struct conn {
	int fd, receiving, closing;
	size_t in_len, in_cap; // unanswered bytes: an incomplete head, or requests behind a send in flight
	size_t out_len, sent;  // out_len > 0: a send is in flight
	char *in, *out;
	struct conn *dirty; // next in the list of connections to answer after this batch
	int is_dirty;
};

static int ring, listener;
static unsigned *sq_head, *sq_tail, sq_mask, pending, *cq_head, *cq_tail, cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static struct io_uring_buf_ring *bufs;
static char *buf_mem;
static uint16_t buf_tail;
static struct conn *dirty;

static void enter(unsigned wait) {
	int n = (int)syscall(__NR_io_uring_enter, ring, pending, wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
	if (n >= 0) pending -= (unsigned)n;
	else if (errno != EINTR && errno != EBUSY && errno != EAGAIN) die("io_uring_enter");
}

static struct io_uring_sqe *sqe(int op, int fd, struct conn *c, uint64_t tag) {
	while (pending == ENTRIES) enter(0);
	struct io_uring_sqe *s = &sqes[*sq_tail & sq_mask];
	memset(s, 0, sizeof *s);
	s->opcode = (uint8_t)op;
	s->fd = fd;
	s->user_data = (uintptr_t)c | tag;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	pending++;
	return s;
}

static void arm_accept(void) {
	sqe(IORING_OP_ACCEPT, listener, NULL, ACCEPT)->ioprio = IORING_ACCEPT_MULTISHOT;
}

static void arm_recv(struct conn *c) {
	struct io_uring_sqe *s = sqe(IORING_OP_RECV, c->fd, c, RECV);
	s->ioprio = IORING_RECV_MULTISHOT;
	s->flags = IOSQE_BUFFER_SELECT;
	c->receiving = 1;
}

static void send_rest(struct conn *c) {
	struct io_uring_sqe *s = sqe(IORING_OP_SEND, c->fd, c, SEND);
	s->addr = (uintptr_t)(c->out + c->sent);
	s->len = (unsigned)(c->out_len - c->sent);
	s->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
}

static void give_back(unsigned bid) {
	struct io_uring_buf *b = &bufs->bufs[buf_tail++ & (BUFS - 1)];
	b->addr = (uintptr_t)(buf_mem + bid * BUF);
	b->len = BUF;
	b->bid = (uint16_t)bid;
}

static void publish_bufs(void) { __atomic_store_n(&bufs->tail, buf_tail, __ATOMIC_RELEASE); }

static void mark(struct conn *c) {
	if (c->is_dirty) return;
	c->is_dirty = 1;
	c->dirty = dirty;
	dirty = c;
}

static void hang_up(struct conn *c) {
	if (!c->closing) shutdown(c->fd, SHUT_RDWR); // ends the multishot recv
	c->closing = 1;
	mark(c);
}

static void keep(struct conn *c, const char *from, size_t n) {
	if (c->in_len + n > c->in_cap) {
		c->in_cap = c->in_cap ? 2 * (c->in_len + n) : 1 << 10;
		if (c->in_cap < c->in_len + n) c->in_cap = c->in_len + n;
		if (!(c->in = realloc(c->in, c->in_cap))) die("realloc");
	}
	memcpy(c->in + c->in_len, from, n);
	c->in_len += n;
}

// After a batch: answers what is buffered if no send is in flight, or frees a connection that has ended.
static void settle(struct conn *c) {
	c->is_dirty = 0;
	if (c->closing && !c->receiving && !c->out_len) {
		close(c->fd);
		free(c->in);
		free(c->out);
		free(c);
		return;
	}
	if (c->closing || c->out_len || !c->in_len) return;
	if (!c->out && !(c->out = malloc(OUT))) die("malloc");
	size_t used = answer(c->in, c->in_len, c->out, OUT, &c->out_len);
	memmove(c->in, c->in + used, c->in_len -= used);
	c->sent = 0;
	if (c->out_len) send_rest(c);
	else if (c->in_len > MAX_HEAD) hang_up(c);
}

static void on_accept(struct io_uring_cqe *e) {
	if (e->res >= 0) {
		struct conn *c = calloc(1, sizeof *c);
		if (!c) die("calloc");
		c->fd = e->res;
		arm_recv(c);
	}
	if (!(e->flags & IORING_CQE_F_MORE)) arm_accept();
}

static void on_recv(struct conn *c, struct io_uring_cqe *e) {
	if (e->flags & IORING_CQE_F_BUFFER) {
		unsigned bid = e->flags >> IORING_CQE_BUFFER_SHIFT;
		if (e->res > 0) keep(c, buf_mem + bid * BUF, (size_t)e->res);
		give_back(bid);
	}
	mark(c);
	if (!(e->flags & IORING_CQE_F_MORE)) c->receiving = 0;
	if ((e->res <= 0 && e->res != -ENOBUFS) || c->in_len > MAX_IN) hang_up(c);
	else if (!c->receiving && !c->closing) publish_bufs(), arm_recv(c);
}

static void on_send(struct conn *c, struct io_uring_cqe *e) {
	if (e->res > 0 && (c->sent += (size_t)e->res) < c->out_len) {
		send_rest(c);
		return;
	}
	c->out_len = 0;
	if (e->res < 0) hang_up(c);
	else if (c->in_len || c->closing) mark(c);
}

static void *map(size_t size, uint64_t offset) {
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, (off_t)offset);
	if (p == MAP_FAILED) die("mmap");
	return p;
}

static void setup(void) {
	struct io_uring_params p = {.cq_entries = CQ_ENTRIES,
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
	if ((ring = (int)syscall(__NR_io_uring_setup, ENTRIES, &p)) < 0) die("io_uring_setup (needs Linux 6.1)");
	char *sq = map(p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	char *cq = map(p.cq_off.cqes + p.cq_entries * sizeof *cqes, IORING_OFF_CQ_RING);
	sqes = map(p.sq_entries * sizeof *sqes, IORING_OFF_SQES);
	sq_head = (unsigned *)(sq + p.sq_off.head);
	sq_tail = (unsigned *)(sq + p.sq_off.tail);
	sq_mask = p.sq_entries - 1;
	for (unsigned i = 0; i < p.sq_entries; i++) ((unsigned *)(sq + p.sq_off.array))[i] = i;
	cq_head = (unsigned *)(cq + p.cq_off.head);
	cq_tail = (unsigned *)(cq + p.cq_off.tail);
	cq_mask = p.cq_entries - 1;
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);

	size_t mem = BUFS * (sizeof(struct io_uring_buf) + BUF);
	bufs = mmap(NULL, mem, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bufs == MAP_FAILED) die("mmap");
	buf_mem = (char *)bufs + BUFS * sizeof(struct io_uring_buf);
	struct io_uring_buf_reg reg = {.ring_addr = (uintptr_t)bufs, .ring_entries = BUFS};
	if (syscall(__NR_io_uring_register, ring, IORING_REGISTER_PBUF_RING, &reg, 1)) die("buffer ring");
	for (unsigned i = 0; i < BUFS; i++) give_back(i);
	publish_bufs();
}

int main(int argc, char **argv) {
	listener = start(argc, argv, 0);
	setup();
	arm_accept();
	for (;;) {
		enter(1);
		tick();
		unsigned head = *cq_head;
		for (unsigned n = __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) - head; n > 0; n--, head++) {
			struct io_uring_cqe *e = &cqes[head & cq_mask];
			struct conn *c = (struct conn *)(uintptr_t)(e->user_data & ~7ull);
			switch (e->user_data & 7) {
			case ACCEPT: on_accept(e); break;
			case RECV: on_recv(c, e); break;
			case SEND: on_send(c, e); break;
			}
		}
		__atomic_store_n(cq_head, head, __ATOMIC_RELEASE);
		publish_bufs();
		while (dirty) {
			struct conn *c = dirty;
			dirty = c->dirty;
			settle(c);
		}
	}
}
