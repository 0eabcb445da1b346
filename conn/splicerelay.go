package conn

import (
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/sock"
)

// A relay is one end of a splice. It stands in for the connection's handler, and does only what any
// handler could do: it reads, and hands bytes over to be written. It belongs to its connection's
// task alone. Data of both ends is in Spliced, under its mutex.
type relay struct {
	Handler // the connection's own
	plain   // of a consumer's parts, those that a splice has no use for
	s       *Spliced
	me      int // which of the ends

	owed  int  // bytes that wait to leave here, as of the last look or fetch
	asked bool // and that the other end waits for room
	// nothing was queued or in flight, and nobody had to be woken, when the last run ended
	quiet bool

	bulk bulk
}

var _ consumer = (*relay)(nil)

// An end is the data that is to leave at one of the connections, and how it leaves. No wake-up is
// lost. A task that changes something for the other end, under the mutex, sets news and then wakes
// the other's task. That task runs, clears news, and looks.
type end struct {
	conn *Conn
	news atomic.Bool // the rest has been changed by the other end since this one has looked

	//	Data that arrived on the other connection, in order: bufs, then the contents of the pipe.
	bufs  [][]byte
	gone  int  // bytes of the first that have left
	bytes int  // in bufs
	raw   bool // they leave by calls of the task's own
	pipe  *sock.Pipe
	piped int    // in the pipe; splicebulk.go says which task owns it
	moved uint64 // all that ever arrived, except passed
	eof   bool   // no more will

	unsent int   // what waited here besides, when this end last looked
	idle   bool  // and nothing of that was still to be given to the kernel
	failed error // the error of a send by the other end; see passNow
	plain  bool  // it is known to be no TLS, so that descriptors may be read and written directly
	waits  bool  // the other end waits for room

	state endState
	cause error

	open   atomic.Bool   // clear, as of when the mutex was last given up
	passed atomic.Uint64 // bytes that have gone through, see splicethrough.go
}

// An endState is how far a connection's end has come.
type endState uint8

const (
	endOpen    endState = iota
	endClosing          // it closes: cause may say why
	endGone             // it is torn down
)

func (r *relay) here() *end { return &r.s.ends[r.me] }

func (r *relay) there() *end { return &r.s.ends[1-r.me] }

// OnData hands received bytes over. While too much waits at the other end, nothing more is read.
func (r *relay) OnData(c *Conn) error {
	p, _ := c.Next(-1)
	r.bulk.came += len(p)
	to := r.there()
	r.s.mu.Lock()
	taken := to.state == endOpen
	if taken {
		to.moved += uint64(len(p))
	}
	if to.clear() {
		r.s.unlock()
		if p = p[r.passNow(c, to, p):]; len(p) == 0 {
			return nil
		}
		r.s.mu.Lock()
		taken = to.state == endOpen
	}
	if taken && !to.extend(p) {
		r.s.unlock()
		own := append(c.driver.buffers.Get(len(p)), p...)
		r.s.mu.Lock()
		if taken = to.state == endOpen; taken {
			to.bufs = append(to.bufs, own)
		} else {
			c.driver.buffers.Put(own)
		}
	}
	if taken {
		to.bytes += len(p)
		r.pressure(c, to)
	}
	r.s.unlock()
	to.tell(c)
	return nil
}

// extend adds a few bytes to the last buffer.
func (e *end) extend(p []byte) bool {
	n := len(e.bufs)
	if n == 0 || len(p) > bufs.Few || cap(e.bufs[n-1])-len(e.bufs[n-1]) < len(p) {
		return false
	}
	e.bufs[n-1] = append(e.bufs[n-1], p...)
	return true
}

// pressure stops the reading if too much waits. The mutex is held, and the other end
// woken after: so it sees that it is to say when there is room.
func (r *relay) pressure(c *Conn, to *end) {
	if to.piped > 0 || to.bytes+to.unsent > c.group.cfg.HighWater {
		to.waits = true
		c.reading.set(backed)
	}
}

// OnEOF passes the end on.
func (r *relay) OnEOF(c *Conn) error {
	to := r.there()
	r.s.mu.Lock()
	to.eof = true
	r.s.unlock()
	to.tell(c)
	return nil
}

// OnWritable does nothing: the other end learns of room by settled.
func (r *relay) OnWritable(*Conn) error { return nil }

// OnClose leaves nothing behind that the other end would wait for.
func (r *relay) OnClose(c *Conn, err error) {
	here, there := r.here(), r.there()
	defer r.s.over(c)
	r.s.mu.Lock()
	here.state = endGone
	if here.cause == nil {
		here.cause = err
	}
	here.discard(c)
	if there.piped == 0 {
		there.dropPipe(c.group, true)
	}
	r.s.unlock()
	there.tell(c)
	r.Handler.OnClose(c, err)
}

// tell makes the end's task look at the changes of c, the other one.
func (e *end) tell(c *Conn) {
	e.news.Store(true)
	c.driver.Cx.Wake(e.conn.task.Waker())
}

// discard drops the data that was to leave here. The mutex is held.
func (e *end) discard(c *Conn) {
	for _, b := range e.bufs {
		c.driver.buffers.Put(b)
	}
	clear(e.bufs)
	e.bufs, e.bytes, e.gone = e.bufs[:0], 0, 0
	if e.piped > 0 {
		e.piped = 0
		e.dropPipe(c.group, false)
	}
}

func (*relay) consumes() {}

// paces implements consumer: pressure pauses the reading, and settleBulk says how it is done.
func (r *relay) paces() bool { return true }

// keeps implements consumer.
func (r *relay) keeps() bool { return true }

// hear implements consumer: it learns of the other end's changes.
func (r *relay) hear(c *Conn) {
	here, there := r.here(), r.there()
	if !here.news.Load() && !c.is(finished|broken) {
		return
	}
	here.news.Store(false)
	r.quiet = false
	r.s.mu.Lock()
	if c.is(finished | broken) {
		here.discard(c)
	}
	r.owed, r.asked = here.bytes+here.piped, here.waits
	eof, state, cause, failed := here.eof, there.state, there.cause, here.failed
	if c.reading.is(backed) && (!there.waits || state == endGone) {
		c.reading.clear(backed)
	}
	if state == endGone && there.pipe != nil && there.piped == 0 { // nobody would give it back
		there.dropPipe(c.group, true)
		c.reading.clear(direct)
	}
	r.s.unlock()
	if c.is(broken) {
		return
	}
	if failed != nil {
		c.failWrite(c.opError("write", failed))
		return
	}
	if eof && !c.is(mute|closing) {
		_ = c.CloseWrite()
	}
	switch {
	case state == endClosing && !c.is(closing), state == endGone && cause == nil && !c.is(closing) && !(c.reading.is(ended) && c.is(mute)):
		if cause != nil {
			c.more().cause = c.partnerError(cause)
		}
		_ = c.Close()
	case state == endGone && cause != nil && !c.is(closing):
		c.set(reset)
		c.fail(c.partnerError(cause))
	}
}

// fetch takes the data that is to leave next, when nothing is queued: bytes become the connection's
// own, without a copy. It reports whether there may be more to do.
func (r *relay) fetch(c *Conn, flying bool) bool {
	here := r.here()
	r.s.mu.Lock()
	n := len(here.bufs)
	if n == 0 {
		piped := here.piped
		r.s.unlock()
		if piped == 0 {
			r.owed = 0
			return false
		}
		return !flying && r.drain(c, piped)
	}
	if here.raw {
		r.s.unlock()
		return !flying && r.writeBuffer(c)
	}
	r.quiet = false
	b := here.bufs[0][here.gone:]
	here.pop()
	here.bytes -= len(b)
	here.unsent += len(b)
	here.idle = false
	r.owed = here.bytes + here.piped
	r.s.unlock()
	c.out.Replace(&c.driver.buffers, b)
	return true
}

// pop drops the first buffer.
func (e *end) pop() {
	n := len(e.bufs)
	copy(e.bufs, e.bufs[1:])
	e.bufs[n-1] = nil
	e.bufs, e.gone = e.bufs[:n-1], 0
}

// calm implements consumer: all is as it was at the end of the run before.
func (r *relay) calm(c *Conn) bool {
	memory, files := c.pending()
	return r.quiet && !c.inbox.right.IsQueued() && len(c.out.Queued)+c.inFlight+memory == 0 && files == 0 && !r.asked && !c.is(mute|closing|broken)
}

// settled implements consumer.
func (r *relay) settled(c *Conn) {
	if r.calm(c) {
		r.settleBulk(c)
		return
	}
	here, there := r.here(), r.there()
	memory, files := c.pending()
	r.s.mu.Lock()
	wake := false
	here.unsent = len(c.out.Queued) + c.inFlight
	here.idle = len(c.out.Queued)+memory == 0 && files == 0 && c.is(opened) && !c.is(mute)
	if here.waits && here.piped == 0 && here.bytes+here.unsent <= c.group.cfg.LowWater {
		here.waits, wake = false, true
		r.asked = false
	}
	state := endOpen
	switch {
	case c.is(broken):
		state = endGone
	case c.is(closing):
		state = endClosing
	}
	if state > here.state {
		here.state, here.cause, wake = state, c.cause(), true
	}
	r.quiet = here.idle && here.unsent == 0 && !here.waits && state == endOpen
	r.s.unlock()
	if wake {
		there.tell(c)
	}
	r.settleBulk(c)
}
