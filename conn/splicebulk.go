package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/receive"
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

// Policy implements core.Passer.
func (r *relay) Policy(g *core.Group) *receive.Policy {
	if r.unpiped {
		return &g.CopyReads
	}
	return &g.PipeReads
}

// MayRead implements core.Passer. It takes a pipe, if the policy wants one and one is left.
func (r *relay) MayRead(c *core.Conn) bool {
	if !c.Is(core.Opened) || !r.s.plain() {
		return false
	}
	var p *sock.Pipe
	if r.Policy(c.Group).Bulk == receive.Pipe {
		p = c.Group.Pipes.Get()
	}
	to := r.there()
	r.s.mu.Lock()
	if p != nil && to.pipe == nil && to.state == endOpen {
		to.pipe, p = p, nil
	}
	to.raw = true
	r.s.unlock()
	if p != nil {
		c.Group.Pipes.Put(p, true)
	}
	return true
}

// plain reports whether neither end speaks TLS, as far as both have looked.
func (s *Spliced) plain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends[0].plain && s.ends[1].plain
}

// dropPipe gives the pipe back, if there is one. The mutex is held.
func (e *end) dropPipe(g *core.Group, empty bool) {
	if e.pipe != nil {
		g.Pipes.Put(e.pipe, empty)
		e.pipe = nil
	}
}

// Readable implements core.Passer: it moves received data into the pipe, or reads it. No receive
// is in flight then.
func (r *relay) Readable(c *core.Conn) {
	to := r.there()
	r.s.mu.Lock()
	p, open := to.pipe, to.state == endOpen
	if to.piped > 0 { // not ours now: Settled wakes
		to.waits = true
		c.Reading.Set(core.Backed)
		r.s.unlock()
		return
	}
	r.s.unlock()
	switch {
	case !open:
		c.Reading.Become(0)
	case p != nil:
		r.fillPipe(c, to, p)
	default:
		r.fillBuffers(c, to)
	}
	if !c.Reading.Is(core.TaskReads) {
		r.copyAgain(c, to)
	}
}

// fillPipe moves bytes into the pipe, and hands it over.
func (r *relay) fillPipe(c *core.Conn, to *end, p *sock.Pipe) {
	size := min(p.Size, r.Policy(c.Group).Size(c.Reading.State()))
	n, errno := sock.Splice(c.Endpoint.FD, p.W, size)
	if errno == syscall.EINVAL || sock.Missing(errno) || errno == syscall.ENOMEM {
		r.unpiped = errno != syscall.ENOMEM
		c.Reading.Become(0)
		return
	}
	if n == 0 && errno == 0 { // the peer's end, or an urgent byte, which a receive passes over
		r.fillBuffers(c, to)
		return
	}
	if c.Took(n, size, errno) == 0 {
		return
	}
	r.s.mu.Lock()
	if to.state == endGone {
		to.dropPipe(c.Group, false)
		c.Reading.Become(0)
	} else {
		to.piped = n
		to.moved += uint64(n)
		to.waits = true
		c.Reading.Set(core.Backed)
	}
	r.s.unlock()
	to.tell(c)
}

// fillBuffers reads some buffers full, and hands them over.
func (r *relay) fillBuffers(c *core.Conn, to *end) {
	size := c.Group.CopyReads.Size(c.Reading.State())
	for came, more := 0, true; more && came < size && !c.Reading.Is(core.Backed); {
		own := c.Driver.Buffers.Get(bufs.Large)
		n := c.ReadInto(own[:cap(own)])
		came, more = came+n, n == cap(own)
		r.s.mu.Lock()
		taken := n > 0 && to.state == endOpen
		if taken {
			to.data.Add(own[:n])
			to.moved += uint64(n)
			r.pressure(c, to)
		}
		r.s.unlock()
		if !taken {
			c.Driver.Buffers.Put(own)
		}
	}
	to.tell(c)
}

// copyAgain is the end of reading directly. A pipe that is not empty is the other end's: hear gives
// it back.
func (r *relay) copyAgain(c *core.Conn, to *end) {
	r.s.mu.Lock()
	if to.piped == 0 {
		to.dropPipe(c.Group, true)
	}
	to.raw = false
	r.s.unlock()
}

// drain moves the pipe's contents into this end's socket. It reports whether there may be more to
// do now.
func (r *relay) drain(c *core.Conn, piped int) bool {
	if !c.Begin() {
		return false
	}
	here, there := r.here(), r.there()
	p := here.pipe // ours while it is not empty
	n, errno := sock.Splice(p.R, c.Endpoint.FD, piped)
	switch {
	case errno == syscall.EAGAIN:
		c.AwaitRoom(0)
		return false
	case errno == syscall.EINVAL || sock.Missing(errno):
		c.Done(0)
		n, errno = r.unpipe(c, p, piped)
		if core.IsTemporary(errno) {
			c.Driver.Cx.Wake(c.Task.Waker())
			return false
		}
		if errno != 0 {
			c.FailSend(c.SysError("write", "read", errno))
			return false
		}
	case errno != 0:
		c.Done(0)
		c.FailSend(c.SysError("write", "splice", errno))
		return false
	case n < piped:
		c.AwaitRoom(n)
	default:
		c.Done(n)
	}
	r.s.mu.Lock()
	here.piped -= n
	r.Owed = here.waiting()
	if here.piped == 0 && there.state == endGone {
		here.dropPipe(c.Group, true)
	}
	r.s.unlock()
	return false
}

// writeBuffer is drain for the first buffer.
func (r *relay) writeBuffer(c *core.Conn) bool {
	if !c.Begin() {
		return false
	}
	here := r.here()
	r.s.mu.Lock()
	b := here.data.First() // the other end only adds behind it
	r.s.unlock()
	n, errno := c.Group.SendNow(c.Endpoint.FD, nil, b)
	switch {
	case core.IsTemporary(errno):
		c.AwaitRoom(0)
		return false
	case errno != 0:
		c.Done(0)
		c.FailSend(c.SysError("write", "send", errno))
		return false
	case n < len(b):
		c.AwaitRoom(n)
	default:
		c.Done(n)
	}
	r.s.mu.Lock()
	here.data.Went(&c.Driver.Buffers, n)
	r.Owed = here.waiting()
	r.s.unlock()
	return n == len(b)
}

// unpipe is for a socket that takes nothing from a pipe: the pipe's contents are copied.
func (r *relay) unpipe(c *core.Conn, p *sock.Pipe, piped int) (int, syscall.Errno) {
	b := c.Driver.Buffers.Get(min(piped, bufs.Large))
	b = b[:min(piped, cap(b))]
	n, errno := c.Group.Calls.TryRecv(p.R, b)
	if errno != 0 {
		c.Driver.Buffers.Put(b)
		return 0, errno
	}
	c.Out.Replace(&c.Driver.Buffers, b[:n])
	return n, 0
}
