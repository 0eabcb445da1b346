package conn

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/inline"
)

var errSpliceItself = errors.New("use two connections")

// A Spliced is two connections whose bytes go from each to the other. Its methods may
// be called from any goroutine.
type Spliced struct {
	a, b core.Handle
	done func(*Spliced)
	left atomic.Int32 // of the two: those whose OnClose has not returned

	sockets [2]*Socket    // of Stream.Splice; nil: of Splice
	idle    time.Duration // replaces the connections' idle time-out; 0: it does not

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
// either connection closes by its handler, so does the other, once its bytes are sent. When one is
// reset, fails or is idle for too long, the other is reset. The reset waits until its peer has
// acknowledged all bytes that arrived before, for Config.LingerTimeout at each step. Its OnClose is
// given an error that wraps the first one's. Deadlines and limits are each connection's own.
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
	return splice(&a.core, b.core, done)
}

func splice(a *core.Conn, b core.Handle, done func(*Spliced)) (*Spliced, error) {
	to := b.Conn()
	switch {
	case a.Is(core.Closing|core.Broken|core.WriteClosed) || a.Reading.Is(core.ReadClosed):
		return nil, a.OpError("splice", net.ErrClosed)
	case to == nil:
		return nil, a.OpError("splice", core.ErrGone)
	case to.Group != a.Group || to == a:
		return nil, a.OpError("splice", errors.New("use two connections of the same Group"))
	case a.Spliced() != nil || a.OfStream():
		return nil, a.OpError("splice", core.ErrSpliced)
	}
	s := newSpliced(a, to)
	s.done = done
	if err := to.Tell(core.Command{Kind: core.CmdSplice, What: (*joining)(s)}); err != nil {
		return nil, a.OpError("splice", err)
	}
	s.join(a)
	return s, nil
}

func newSpliced(a, b *core.Conn) *Spliced {
	s := &Spliced{a: a.Handle(), b: b.Handle()}
	for i, c := range [2]*core.Conn{a, b} {
		s.ends[i].conn = c
		s.ends[i].changed.Store(true)
	}
	s.left.Store(2)
	return s
}

// Handles are the two connections, a being the one whose handler said Splice.
func (s *Spliced) Handles() (a, b Handle) { return Handle{s.a}, Handle{s.b} }

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
		if open := e.canPass(); open != e.open.Load() {
			e.open.Store(open)
		}
	}
	s.mu.Unlock()
}

// complete reports whether both peers have finished.
func (s *Spliced) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends[0].eof && s.ends[1].eof
}

// A joining is a Spliced as a core.Joiner, whose method users do not see.
type joining Spliced

// Join implements core.Joiner.
func (j *joining) Join(c *core.Conn) { (*Spliced)(j).join(c) }

// join makes the task's connection one end of the splice.
func (s *Spliced) join(c *core.Conn) {
	me := uint8(0)
	if c == s.ends[1].conn {
		me = 1
	}
	k := s.sockets[me]
	if c.Spliced() != nil || k == nil && c.OfStream() { // b alone: Splice has looked at a
		s.mu.Lock()
		s.ends[me].state, s.ends[me].cause = endGone, core.ErrSpliced
		s.unlock()
		s.ends[1-me].changed.Store(true)
		s.ends[1-me].conn.Task.Wake()
		s.over()
		return
	}
	r := &relay{Handler: handlerOf(c), s: s, me: me, socket: k}
	if k != nil {
		r.functions = streamOf(r.Handler)
	}
	c.SetLink(&r.Link)
	c.Install(r)
	plain := c.Filter() == nil && s.ends[0].conn.Group == s.ends[1].conn.Group
	if plain {
		inline.Allow(&c.Task) // for through, which passes received bytes on unchanged
	}
	s.mu.Lock()
	s.ends[me].plain = plain
	s.unlock()
	c.Reading.Clear(core.Paused | core.UserPaused)
	c.Reading.Become(0)
	if (c.Is(core.WriteClosed) || c.Reading.Is(core.ReadClosed)) && !c.Is(core.Broken) {
		c.Fail(c.OpError("splice", net.ErrClosed)) // one way is shut
	}
	if s.idle > 0 {
		_ = c.SetIdleTimeout(s.idle) // it may be closing
	}
	if k != nil {
		for b := k.duplex.TakeBlock(); b != nil; b = k.duplex.TakeBlock() {
			r.pass(c, b.Data[b.From:])
			b.Put()
		}
	}
	if len(c.In.Unread) > 0 && !c.Is(core.Closing|core.Broken) {
		_ = r.OnData(users(c))
	}
	c.Reading.Clear(core.Unoffered)
	if c.Reading.Is(core.EndSeen) { // the handler has seen the end, and has not closed it
		_ = r.OnEOF(users(c))
	}
	if !c.Is(core.Broken) {
		c.Driver.Cx.Wake(c.Task.Waker())
	}
	s.ends[1-me].tell(c)
}

// over notes that OnClose of one of the two has returned.
func (s *Spliced) over() {
	if s.left.Add(-1) == 0 && s.done != nil {
		s.done(s)
	}
}

// partnerError is the error that ends c because of the other connection.
func partnerError(c *core.Conn, err error) error { return c.OpError("splice", &partnerEnded{err}) }

// A partnerEnded is the error of the other connection of a splice.
type partnerEnded struct{ err error }

func (e *partnerEnded) Error() string { return "conn: the other connection ended: " + e.err.Error() }

func (e *partnerEnded) Unwrap() error { return e.err }
