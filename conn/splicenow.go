package conn

import (
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
)

// passNow sends bytes that arrived on c by the other end's connection, without a run of that one's
// task. It returns how much of p it has dealt with.
//
// The order is kept. Only this task hands anything over to that end, and clear has said that all of
// it has gone to that connection's inbox. The inbox says, as it does to put, whether it has left
// from there too. So only bytes that the other end's handler writes itself can come in between, and
// those have no fixed place. The descriptor stays open, as in put, or as for any flight. An error
// is left for that end's task, since the kernel reports it once.
func (r *relay) passNow(c *Conn, to *end, p []byte) int {
	b := to.conn
	// io_uring: the worker's next call submits it with all others
	batched := c.group.completes && len(p) < atOnce
	b.mu.Lock()
	in := &b.inbox
	switch {
	case batched && c.group.bounded(), !in.right.Try(): // the ledger has only what that task books
		b.mu.Unlock()
		return 0
	case batched:
		in.right.Pass(sending.Operation)
		r.launch(c, to, p)
		return len(p)
	}
	fd := b.end.FD
	b.mu.Unlock()
	n, errno := c.group.sendNow(fd, nil, p)
	b.mu.Lock()
	told := in.right.GiveUp(n, 0)
	waiter := in.roomFor(told)
	b.mu.Unlock()
	if errno != 0 && !passes(errno) {
		r.refused(c, to, sock.Error("send", errno))
	} else if told.Task {
		c.driver.Cx.Wake(b.task.Waker())
	}
	if waiter != nil {
		waiter.MadeRoom()
	}
	return n
}

// launch makes p the other connection's flight. Its lock is held, and released.
func (r *relay) launch(c *Conn, to *end, p []byte) {
	d, b := c.driver, to.conn
	own := append(d.buffers.Get(len(p)), p...)
	in := &b.inbox
	in.need(d)
	in.flight, in.sent, in.lent = own, 0, d.Engine()
	b.mu.Unlock()
	if _, err := b.carry(d, d.Engine(), own, true); err != nil {
		r.refused(c, to, err)
	}
}

// refused makes the other connection end.
func (r *relay) refused(c *Conn, to *end, err error) {
	r.s.mu.Lock()
	to.failed = err
	r.s.unlock()
	to.tell(c)
}

// clear reports that new bytes may leave at once. The mutex is held; without it, open says so.
func (e *end) clear() bool {
	return e.idle && e.plain && !e.eof && e.bytes == 0 && e.piped == 0 && e.state == endOpen
}
