package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/sock"
)

// A direction of a splice that carries bulk data is read directly. When the reactor reports that
// there is something, the receiving connection's task moves it into a pipe of the kernel. The other
// connection's task moves it from there into its socket. Each task uses its own socket only, so
// neither descriptor can be closed, or become another's, during a call. Without a pipe the task
// reads into buffers, which the other one writes. Unlike a reactor's receive, a direct read takes
// no more than is wanted. It costs a tick less.
//
// The pipe belongs to one task at a time: to the source's while it is empty, as end.piped says
// under the mutex, else to the other's.
//
// internal/cmd/relay has the benchmark (1 MiB writes over loopback): 4.2 to 4.5 GB per second of
// the proxy's CPU through a pipe, 2.3 at best through memory.
type bulk struct {
	came   int  // bytes in this run
	streak int  // runs that brought much, less those that did not
	small  int  // reads in a row that got little
	vain   int  // times in a row that readiness was reported in vain
	never  bool // this connection's socket does not splice
}

const (
	bulkRun    = 32 << 10
	bulkStreak = 4
	smallRead  = 32 << 10
	smallMost  = 8
	vainMost   = 8
)

// settleBulk decides, at the end of a run, how this end is read from now on.
func (r *relay) settleBulk(c *Conn) {
	b := &r.bulk
	came := b.came
	b.came = 0
	if c.reading.is(direct) {
		return
	}
	switch {
	case came >= bulkRun:
		b.streak++
	case came > 0:
		b.little()
	}
	if b.streak < bulkStreak || !c.is(opened) || c.is(closing|broken) || c.reading.is(deaf|ended) || !r.s.plain() {
		return
	}
	b.streak, b.small, b.vain = 0, 0, 0
	var p *sock.Pipe
	if !b.never {
		p = c.group.pipes.Get()
	}
	to := r.there()
	r.s.mu.Lock()
	if p != nil && to.pipe == nil && to.state == endOpen {
		to.pipe, p = p, nil
	}
	to.raw = true
	r.s.unlock()
	if p != nil {
		c.group.pipes.Put(p, true)
	}
	c.reading.set(direct)
	c.driver.Cx.Wake(c.task.Waker()) // settle ends the receive
}

// little notes that little has come: what fills up a buffer of the reactor's may be little.
func (b *bulk) little() {
	if b.streak > 0 {
		b.streak--
	}
}

// plain reports whether neither end speaks TLS, as far as both have looked.
func (s *Spliced) plain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends[0].plain && s.ends[1].plain
}

// dropPipe gives the pipe back, if there is one. The mutex is held.
func (e *end) dropPipe(g *Group, empty bool) {
	if e.pipe != nil {
		g.pipes.Put(e.pipe, empty)
		e.pipe = nil
	}
}

// readable implements consumer: it moves received data into the pipe, or reads it. No receive is in
// flight then.
func (r *relay) readable(c *Conn) {
	b, to := &r.bulk, r.there()
	r.s.mu.Lock()
	p := to.pipe
	if to.piped > 0 { // not ours now: settled wakes
		to.waits = true
		c.reading.set(backed)
		r.s.unlock()
		return
	}
	open := to.state == endOpen
	r.s.unlock()
	if !open || b.small >= smallMost || b.vain >= vainMost {
		r.copyAgain(c, to)
		return
	}
	var n int
	var errno syscall.Errno
	if p == nil {
		n, errno = r.readBuffers(c, to)
	} else {
		n, errno = sock.Splice(c.end.FD, p.W, min(p.Size, 4*c.group.cfg.HighWater))
	}
	switch {
	case errno == syscall.EAGAIN:
		b.vain++
	case p != nil && (errno == syscall.EINVAL || errno == syscall.ENOSYS || errno == syscall.ENOMEM):
		b.never = errno != syscall.ENOMEM
		r.copyAgain(c, to)
	case errno != 0:
		r.copyAgain(c, to)
		c.recvEnd(errno)
	case n == 0:
		r.copyAgain(c, to)
		c.recvEnd(0)
	default:
		b.vain = 0
		if b.small++; n >= smallRead {
			b.small = 0
		}
		c.cameDirectly(n)
		if p != nil {
			r.filled(c, to, n)
		}
		to.tell(c)
	}
}

// readBuffers reads some buffers full.
func (r *relay) readBuffers(c *Conn, to *end) (total int, errno syscall.Errno) {
	for !c.reading.is(backed) && total < sock.PipeSize/4 {
		own := c.driver.buffers.Get(bufs.Large)
		n, errno := c.group.cfg.Reactor.TryRecv(c.end.FD, own[:cap(own)])
		if n == 0 {
			c.driver.buffers.Put(own)
			if total > 0 {
				return total, 0 // the end, or the error, comes again
			}
			return 0, errno
		}
		total += n
		r.s.mu.Lock()
		if to.state == endOpen {
			to.bufs = append(to.bufs, own[:n])
			to.bytes += n
			to.moved += uint64(n)
			r.pressure(c, to)
		}
		r.s.unlock()
		if n < cap(own) {
			break
		}
	}
	return total, 0
}

// cameDirectly notes that n bytes have been received without a Recv.
func (c *Conn) cameDirectly(n int) {
	c.mu.Lock()
	c.inbox.received += uint64(n)
	c.mu.Unlock()
	if c.extras != nil && c.extras.clock.Idles() {
		c.extras.clock.Came(c.group.rt.Now())
	}
}

// filled hands the pipe over.
func (r *relay) filled(c *Conn, to *end, n int) {
	r.s.mu.Lock()
	if to.state == endGone {
		to.dropPipe(c.group, false)
		c.reading.clear(direct)
	} else {
		to.piped = n
		to.moved += uint64(n)
		to.waits = true
		c.reading.set(backed)
	}
	r.s.unlock()
}

// copyAgain ends the reading directly. The pipe is empty.
func (r *relay) copyAgain(c *Conn, to *end) {
	c.reading.clear(direct)
	r.s.mu.Lock()
	to.dropPipe(c.group, true)
	to.raw = false
	r.s.unlock()
	r.bulk.streak = 0
}

// drain moves the pipe's contents into this end's socket. It reports whether there may be more to
// do now.
func (r *relay) drain(c *Conn, piped int) bool {
	here, there := r.here(), r.there()
	p := here.pipe // ours while it is not empty
	n, errno := sock.Splice(p.R, c.end.FD, piped)
	switch {
	case errno == syscall.EAGAIN:
		c.awaitWritable()
		return false
	case errno == syscall.EINVAL || errno == syscall.ENOSYS:
		n, errno = r.unpipe(c, p, piped)
		if passes(errno) {
			c.driver.Cx.Wake(c.task.Waker())
			return false
		}
		if errno != 0 {
			c.failWrite(c.sysError("write", "read", errno))
			return false
		}
	case errno != 0:
		c.failWrite(c.sysError("write", "splice", errno))
		return false
	default:
		c.tookDirectly(n)
	}
	r.s.mu.Lock()
	here.piped -= n
	r.owed = here.bytes + here.piped
	left := here.piped
	if left == 0 && there.state == endGone {
		here.dropPipe(c.group, true)
	}
	r.s.unlock()
	if left > 0 && len(c.out.Queued) == 0 {
		c.awaitWritable()
	}
	return false
}

// writeBuffer is drain for the first buffer.
func (r *relay) writeBuffer(c *Conn) bool {
	here := r.here()
	r.s.mu.Lock()
	b := here.bufs[0][here.gone:] // the other end only adds behind it
	r.s.unlock()
	n, errno := c.group.sendNow(c.end.FD, nil, b)
	switch {
	case passes(errno):
		c.awaitWritable()
		return false
	case errno != 0:
		c.failWrite(c.sysError("write", "send", errno))
		return false
	}
	c.tookDirectly(n)
	r.s.mu.Lock()
	here.bytes -= n
	here.gone += n
	if here.gone == len(here.bufs[0]) {
		c.driver.buffers.Put(here.bufs[0])
		here.pop()
	}
	r.owed = here.bytes + here.piped
	r.s.unlock()
	if n < len(b) {
		c.awaitWritable()
		return false
	}
	return true
}

// passes reports whether a call is worth another try.
func passes(errno syscall.Errno) bool {
	return errno == syscall.EAGAIN || errno == syscall.EINTR || errno == syscall.ENOBUFS
}

// unpipe is for a socket that takes nothing from a pipe: the pipe's contents are copied.
func (r *relay) unpipe(c *Conn, p *sock.Pipe, piped int) (int, syscall.Errno) {
	b := c.driver.buffers.Get(min(piped, bufs.Large))
	b = b[:min(piped, cap(b))]
	n, errno := c.group.cfg.Reactor.TryRecv(p.R, b)
	if errno != 0 {
		c.driver.buffers.Put(b)
		return 0, errno
	}
	c.out.Replace(&c.driver.buffers, b[:n])
	return n, 0
}
