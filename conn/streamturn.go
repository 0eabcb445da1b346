package conn

import (
	"errors"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// streamEvents is a Stream as the handler of its connection, so that these are not
// methods of the Stream.
type streamEvents Stream

var _ Handler = (*streamEvents)(nil)

// OnOpen implements Handler; it is not called.
func (*streamEvents) OnOpen(*Conn) error { return nil }

// OnData implements Handler: whoever reads takes it from where it lies.
func (e *streamEvents) OnData(c *Conn) error {
	s := (*Stream)(e)
	s.rouse()
	s.resume()
	s.fresh = true
	if !s.holds && len(c.in.unread) >= s.most() && !c.is(closing|broken|deaf) {
		s.holds = true
		return c.PauseRead()
	}
	return nil
}

// most is how much is received that nobody reads: less than a handler's connection would
// end for.
func (s *Stream) most() int { return min(s.c.group.cfg.HighWater, s.c.group.cfg.MaxRead) }

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
func (e *streamEvents) OnDrain(*Conn) { e.draining.Store(true) }

// OnClose implements Handler.
func (e *streamEvents) OnClose(c *Conn, _ error) { c.group.rt.StopTimer(&e.timer) }

// turn is the stream's part of a run of the connection's task, after the news.
func (s *Stream) turn() {
	c := s.c
	for ; ; s.fresh = false {
		s.rouse()
		s.seen = s.changed.Load()
		s.obey()
		if !s.fresh || s.c.is(broken) {
			s.resume()
		}
		s.obey()
		if s.vacate() {
			return
		}
		s.armTimer()
		s.awake.Store(false)
		if s.seen == s.changed.Load() {
			break
		}
	}
	s.fresh = false
	if s.holds && len(c.in.unread) <= min(c.group.cfg.LowWater, s.most()/4) {
		s.holds = false
		_ = c.ResumeRead()
	}
	c.clear(crowded)
	if s.needsRoom {
		c.set(crowded)
	}
}

// rouse says that a turn is under way. To write that anew each time would be dear.
func (s *Stream) rouse() {
	if !s.awake.Load() {
		s.awake.Store(true)
	}
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

// resume lets all go on that wait: whatever the task was woken for, they see whether it
// is for them.
func (s *Stream) resume() {
	if s.c.is(closing|broken) && s.c.cause() != nil && !s.told {
		s.told = true
		s.cancel(true)
	}
	s.looked = 0
	if s.readBy.Load() != 0 || s.writeBy.Load() != 0 {
		s.looked = int64(s.c.group.rt.Now())
	}
	for again := true; again; { // the end of one is news for the others
		again = false
		s.needsRoom = false
		s.goOn(&s.main)
		if s.main.over && !s.ending {
			s.ending = true
			s.cancel(false)
		}
		for i := 0; i < len(s.children); i++ { // one may start another
			again = s.goOn(&s.children[i].b) || again
		}
		s.reap()
	}
}

// goOn lets one go on, and reports whether that was its end.
func (s *Stream) goOn(b *branch) bool {
	if b.over {
		return false
	}
	s.running = b
	b.goOn(s.c.driver.cx)
	s.running = nil
	return b.over
}

// cancel has Awaits fail, those of main too if all is said.
func (s *Stream) cancel(all bool) {
	if all {
		s.main.co.Cancel()
	}
	for _, b := range s.children {
		b.b.co.Cancel()
	}
}

// reap forgets the children that are over and joined, or whose error is kept.
func (s *Stream) reap() {
	if len(s.children) == 0 {
		return
	}
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
	c.clear(occupied | crowded)
	if s.err = s.main.co.Err(); s.err == nil && s.failed != nil && !s.failed.joined {
		s.err = s.failed.b.co.Err()
	}
	var p *PanicError
	switch {
	case errors.As(s.err, &p):
		c.group.cfg.Logger.Error("conn: handler panicked", "remote", c.RemoteAddr(), "panic", p.Value, "stack", string(p.Stack))
		c.fail(s.err)
	case s.err != nil:
		c.check(s.err)
	case !c.is(closing | broken):
		_ = c.Close()
	}
	return true
}

// armTimer sees to it that the task runs at the next deadline: also at one that has
// passed by now, but not when the last of those who may wait for it began to look.
func (s *Stream) armTimer() {
	next := int64(0)
	for _, at := range [...]int64{s.readBy.Load(), s.writeBy.Load()} {
		if at > s.looked && (next == 0 || at < next) {
			next = at
		}
	}
	if s.armed != 0 && s.timer.Fired() {
		s.armed = 0
	}
	if next != 0 && (s.armed == 0 || next < s.armed) {
		s.armed = next
		s.c.group.rt.StartTimer(&s.timer, time.Duration(next), s.c.task.Waker())
	}
}
