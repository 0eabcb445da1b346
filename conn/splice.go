package conn

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// ErrSpliced is returned by Splice for a connection that is spliced already, or is a
// Stream's. If b is one, that is only known when its task looks: then a ends with it.
var ErrSpliced = errors.New("conn: the connection is spliced already, or a Stream's")

// A Spliced is two connections whose bytes go from each to the other. Its methods may
// be called from any goroutine.
type Spliced struct {
	a, b Handle
	done func(*Spliced)
	left atomic.Int32 // of the two: those whose OnClose has not returned

	mu   sync.Mutex // guards the ends; never held while a handler is called
	ends [2]end
}

// Splice sends all bytes that arrive on either of two connections out on the other, beginning with
// each one's unread bytes. Reading that was paused is resumed. A handler that leaves bytes unread
// until it can call Splice pauses reading (PauseRead), else Config.MaxRead ends the connection.
// Splice is for a method of a's handler. b is another connection of the same Group, on any worker,
// open or still being dialed.
//
// From then on the handlers' OnData, OnEOF and OnWritable are not called; the other methods are.
// The end of one peer's bytes becomes the end of the other's, after everything before it. When
// either connection closes, by its handler or a time-out, so does the other, once its bytes are
// sent. When one is reset or fails, the other is reset, and its OnClose is given an error that
// wraps the first one's. Deadlines and limits are each connection's own.
//
// A peer that takes less than the other sends holds that one up. At most about Config.HighWater
// bytes lie between the two, each way. Bulk data moves through a pipe of the kernel by splice(2):
// then it is at most four times that, or 1 MiB.
//
// Either connection may speak TLS, or both. Then plaintext goes from one to the other, its end is
// the close-notify, and the kernel moves nothing. Bytes that arrive on a before the handshake of b
// is complete wait for it.
//
// done, unless it is nil, is called once, on a worker, when OnClose of both has returned. The error
// matches net.ErrClosed when either connection is ending or has ended, or ErrSpliced; then nothing
// has changed.
func Splice(a *Conn, b Handle, done func(*Spliced)) (*Spliced, error) {
	to := b.conn()
	switch {
	case a.is(closing|broken|mute) || a.reading.is(deaf):
		return nil, a.opError("splice", net.ErrClosed)
	case to == nil:
		return nil, a.opError("splice", errGone)
	case to.group != a.group || to == a:
		return nil, a.opError("splice", errors.New("use two connections of the same Group"))
	case a.spliced() != nil || a.ofStream():
		return nil, a.opError("splice", ErrSpliced)
	}
	s := &Spliced{a: a.Handle(), b: b, done: done}
	for i, c := range [2]*Conn{a, to} {
		s.ends[i].conn = c
		s.ends[i].news.Store(true)
	}
	s.left.Store(2)
	if err := to.tell(command{kind: cmdSplice, splice: s}); err != nil {
		return nil, a.opError("splice", err)
	}
	a.join(s, 0)
	return s, nil
}

// Handles are the two connections, a being the one whose handler said Splice.
func (s *Spliced) Handles() (a, b Handle) { return s.a, s.b }

// Bytes is how much arrived on a and was handed to b, and the other way. It includes bytes that the
// kernel has not taken yet, see Info.
func (s *Spliced) Bytes() (toB, toA uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends[1].moved + s.ends[1].passed.Load(), s.ends[0].moved + s.ends[0].passed.Load()
}

// unlock gives up the mutex, and tells of each end whether it is open.
func (s *Spliced) unlock() {
	for i := range s.ends {
		e := &s.ends[i]
		if open := e.clear(); open != e.open.Load() {
			e.open.Store(open)
		}
	}
	s.mu.Unlock()
}

// join makes the task's connection one end of a splice.
func (c *Conn) join(s *Spliced, me int) {
	if c.spliced() != nil || c.ofStream() { // b alone: Splice has looked at a
		s.mu.Lock()
		s.ends[me].state, s.ends[me].cause = endGone, ErrSpliced
		s.unlock()
		s.ends[1-me].news.Store(true)
		s.ends[1-me].conn.task.Wake()
		s.over(c)
		return
	}
	r := &relay{Handler: c.handler, s: s, me: me}
	x := c.more()
	c.mu.Lock()
	x.relay = r
	c.mu.Unlock()
	c.install(r)
	plain := c.filter() == nil
	if plain {
		c.task.LetEnter() // for through, which passes on what arrives as it is
	}
	s.mu.Lock()
	s.ends[me].plain = plain
	s.unlock()
	c.reading.clear(paused | held | direct)
	if (c.is(mute) || c.reading.is(deaf)) && !c.is(broken) {
		c.fail(c.opError("splice", net.ErrClosed)) // one way is shut
	}
	if len(c.in.Unread) > 0 && !c.is(closing|broken) {
		_ = r.OnData(c)
	}
	c.reading.clear(unseen)
	if c.reading.is(endSeen) { // the handler has seen the end, and has not closed it
		_ = r.OnEOF(c)
	}
	if !c.is(broken) {
		c.driver.Cx.Wake(c.task.Waker())
	}
	s.ends[1-me].tell(c)
}

// over notes that OnClose of one of the two has returned.
func (s *Spliced) over(c *Conn) {
	if s.left.Add(-1) == 0 && s.done != nil {
		s.done(s)
	}
}

// partnerError is what ends a connection because of the other.
func (c *Conn) partnerError(err error) error {
	return c.opError("splice", fmt.Errorf("conn: the other connection ended: %w", err))
}

// lateSplice is for the end of a connection. A splice that it has not looked at yet has another
// end, which must learn of this one's end.
func (c *Conn) lateSplice() {
	c.mu.Lock()
	var late []command
	if c.inbox.mail != nil {
		late, c.inbox.commands = c.inbox.commands, nil
	}
	c.mu.Unlock()
	late = append(c.filter().release(), late...) // what waited for a handshake that has failed
	for _, cmd := range late {
		if cmd.kind == cmdSplice {
			c.join(cmd.splice, 1)
		}
	}
}
