package conn

import "syscall"

// passNow sends what has come in on c straight from where it lies, on the other end's socket: so what is little passes
// without a run of that end's task, and without a copy. It returns how much the kernel has taken.
//
// The order is kept: only this task hands anything over to that end, and clear has said that all of it has gone to that
// connection's inbox, with which claim is as careful as for put. So between the two nothing but what that end's handler
// writes itself can have come in, which has no place before or behind. The descriptor stays open, as in put. An error is
// left for that end's task, since the kernel tells it once.
func (r *relay) passNow(c *Conn, to *end, p []byte) int {
	b := to.conn
	b.mu.Lock()
	in := &b.inbox
	if !in.claim() {
		b.mu.Unlock()
		return 0
	}
	fd := b.fd
	b.mu.Unlock()
	n, errno := c.group.cfg.Reactor.TrySend(fd, nil, p)
	n = max(0, n)
	b.mu.Lock()
	in.direct = false
	in.taken += uint64(n)
	tell := in.tellEnd
	b.mu.Unlock()
	switch errno {
	case 0, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
	default:
		r.s.mu.Lock()
		to.errno = errno
		r.s.mu.Unlock()
		tell = true
	}
	if tell {
		c.driver.cx.Wake(b.task.Waker())
	}
	return n
}

// clear reports that what comes now may be sent at once. The mutex is held.
func (e *end) clear() bool {
	return e.idle && e.plain && !e.eof && e.bytes == 0 && e.piped == 0
}
