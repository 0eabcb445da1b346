package conn

import (
	"errors"
	"time"

	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// streamEvents is a Stream as the handler of its connection, so that these are not
// methods of the Stream.
type streamEvents Stream

var _ consumer = (*streamEvents)(nil)

// OnOpen implements Handler; it is not called.
func (*streamEvents) OnOpen(*Conn) error { return nil }

// OnData implements Handler: waiting reads take bytes from where they lie. It is called for all
// chunks of a run but the last, which the turn takes.
func (e *streamEvents) OnData(*Conn) error {
	s := (*Stream)(e)
	s.signal.Rouse()
	e.resume()
	s.fresh = true
	s.hold()
	return nil
}

// hold stops the reading while much is unread.
func (s *Stream) hold() {
	c := s.c
	left := len(c.in.Unread)
	switch {
	case s.holds && left <= min(c.group.cfg.LowWater, s.most()/4):
		s.holds = false
		_ = c.ResumeRead() // it is not, if the connection ends
	case !s.holds && left >= s.most() && !c.is(closing|broken) && !c.reading.is(deaf):
		s.holds = true
		if left >= c.group.cfg.MaxRead {
			c.reading.set(unseen) // settle stops the receive at once
		}
		_ = c.PauseRead()
	}
}

// most is how much is received that nobody reads: less than a handler's connection would
// end for.
func (s *Stream) most() int { return min(s.c.group.cfg.HighWater, s.c.group.cfg.MaxRead) }

func (*streamEvents) consumes() {}

// came implements consumer: the turn takes the last chunk of a run.
func (e *streamEvents) came(c *Conn, b reactor.Buffer) {
	if c.in.Attached() {
		c.offer()
	}
	c.in.Attach(&c.driver.buffers, c.releaser(), b)
	e.fresh = false
}

// keeps implements consumer.
func (e *streamEvents) keeps() bool { return !e.vacant }

// wantsRoom implements consumer: a Write waits.
func (e *streamEvents) wantsRoom() bool { return e.crowded }

// departs implements consumer: all functions have returned, or are about to see why they must.
func (e *streamEvents) departs(c *Conn) bool {
	if !e.vacant && c.cause() != nil && !e.told {
		c.driver.Cx.Wake(c.task.Waker())
	}
	return e.vacant
}

// appetite implements consumer.
func (e *streamEvents) appetite() int {
	s := (*Stream)(e)
	return s.most() - len(s.c.in.Unread)
}

// OnEOF implements Handler: reads return io.EOF, and writing goes on.
func (e *streamEvents) OnEOF(*Conn) error {
	e.fresh = false
	return nil
}

// OnWritable implements Handler.
func (*streamEvents) OnWritable(*Conn) error { return nil }

// OnDeadline implements Handler; it is not called.
func (*streamEvents) OnDeadline(*Conn) error { return nil }

// OnDrain implements Handler.
func (e *streamEvents) OnDrain(c *Conn) {
	if e.outer != nil {
		e.outer.OnDrain(c)
		return
	}
	(*Stream)(e).drain()
}

// drain makes the functions see that the server shuts down.
func (s *Stream) drain() {
	s.draining.Store(true)
	s.fresh = false
}

// OnClose implements Handler.
func (e *streamEvents) OnClose(c *Conn, err error) {
	e.alarm.Stop(c.group.rt)
	if e.outer != nil {
		e.outer.OnClose(c, err)
	}
}

// begin implements consumer: resume is not to be called if that has been done since the news
// came, and nobody else has asked for anything.
func (e *streamEvents) begin() bool {
	s := (*Stream)(e)
	if s.vacant {
		return false
	}
	if s.signal.Look() {
		s.fresh = false
	}
	s.signal.Rouse()
	s.obey()
	return !s.fresh || s.c.is(broken) || e.end()
}

// end implements consumer: resume is to be called again if something has changed meanwhile.
func (e *streamEvents) end() bool {
	s := (*Stream)(e)
	c := s.c
	s.fresh = false
	s.obey()
	if s.main.over && s.vacate() {
		return false
	}
	if s.timed() {
		s.armTimer()
	}
	if s.signal.Rest() {
		return e.begin()
	}
	if s.holds || len(c.in.Unread) > 0 {
		s.hold()
	}
	s.crowded = s.needsRoom
	return false
}

// obey does what other goroutines have asked for.
func (s *Stream) obey() {
	c := s.c
	switch {
	case c.is(broken) || !s.closed.Load():
	case s.resets.Load():
		c.Abort()
	case !c.is(closing):
		_ = c.Close()
	}
}

// resume implements consumer. It lets all waiting functions go on: each sees whether the task was
// woken for it.
func (e *streamEvents) resume() {
	s := (*Stream)(e)
	if s.c.is(closing|broken) && s.c.cause() != nil && !s.told {
		s.told = true
		s.cancel(true)
	}
	if s.timed() {
		s.looked = int64(s.c.group.rt.Now())
	}
	for again := true; again; { // the end of one is news for the others
		again = false
		s.needsRoom = false
		switch {
		case s.main.over:
		case s.main.begin != nil:
			again = s.goOn(&s.main) && !s.main.over
		default: // what goOn does, without its frames
			s.running = &s.main
			s.main.over = s.main.co.Resume()
			s.running = nil
		}
		if s.main.over && !s.ending {
			s.ending = true
			s.cancel(false)
		}
		for i := 0; i < len(s.children); i++ { // one may start another
			again = s.goOn(&s.children[i].b) || again
		}
		if len(s.children) > 0 {
			s.reap()
		}
	}
}

// goOn lets one function go on. It reports whether others have to go on after that, because this
// was its end, or because it is to be canceled. A cancel has no effect before a coroutine has
// begun. So a function that begins after its cancellation is canceled at its first wait.
func (s *Stream) goOn(b *branch) bool {
	if b.over {
		return false
	}
	first := b.begin != nil
	s.running = b
	b.goOn(s.c.driver.Cx)
	s.running = nil
	if first && !b.over && (s.told || s.ending) {
		b.co.Cancel()
		return true
	}
	return b.over
}

// cancel makes Awaits fail, with all those of main too.
func (s *Stream) cancel(all bool) {
	if all {
		s.main.co.Cancel()
	}
	for _, b := range s.children {
		b.b.co.Cancel()
	}
}

// reap forgets the children that are over and joined, or have left a kept error.
func (s *Stream) reap() {
	kept := s.children[:0]
	for _, b := range s.children {
		if !b.b.over {
			kept = append(kept, b)
			continue
		}
		if err := b.b.co.Err(); err != nil && !b.joined && (s.failed == nil || s.failed.joined) && !errors.Is(err, sched.ErrCancelled) {
			s.failed = b
		}
	}
	clear(s.children[len(kept):])
	s.children = kept
}

// vacate ends the connection if no function is left. It reports whether that is so.
func (s *Stream) vacate() bool {
	if !s.main.over || len(s.children) > 0 {
		return false
	}
	c := s.c
	s.vacant, s.crowded = true, false
	err := s.main.co.Err() // which Sequential has counted
	orphan := err == nil && s.failed != nil && !s.failed.joined
	if orphan {
		err = s.failed.b.co.Err()
	}
	var p *PanicError
	switch {
	case errors.As(err, &p):
		c.group.core.HandlerPanicked(p, c.handler, c.logAttr())
		c.fail(err)
	case orphan:
		c.check(err)
	case err != nil:
		c.conclude(err)
	case !c.is(closing | broken):
		_ = c.Close()
	}
	return true
}

// timed reports whether there are deadlines.
func (s *Stream) timed() bool { return s.readBy.Load() != 0 || s.writeBy.Load() != 0 }

// armTimer makes the task run at the next deadline. A deadline that has passed by now counts too.
// One that had passed when the last waiting function began to look does not.
func (s *Stream) armTimer() {
	next := int64(0)
	for _, at := range [...]int64{s.readBy.Load(), s.writeBy.Load()} {
		if at > s.looked && (next == 0 || at < next) {
			next = at
		}
	}
	s.alarm.Rang() // whether it did or not, next is when it is to ring
	s.alarm.Set(s.c.group.rt, time.Duration(next), s.c.task.Waker())
}
