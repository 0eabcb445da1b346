package conn

import (
	"errors"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// streamEvents is a Stream as the handler of its connection, so that these are not methods of the
// Stream. ARCHITECTURE ("Wake-ups") lists the events that lead to a turn; this file is what a turn
// does.
type streamEvents Stream

var (
	_ core.Consumer  = (*streamEvents)(nil)
	_ core.Functions = (*streamEvents)(nil)
)

// OnOpen implements Handler; it is not called.
func (*streamEvents) OnOpen(*Conn) error { return nil }

// OnData implements Handler: waiting reads take bytes from where they lie. It is called for all
// chunks of a run but the last, which the turn takes.
func (e *streamEvents) OnData(*Conn) error {
	s := (*Stream)(e)
	s.signal.Rouse()
	e.Resume()
	s.fresh = true
	s.hold()
	return nil
}

// hold stops the reading while much is unread.
func (s *Stream) hold() {
	c := s.c
	left := len(c.In.Unread)
	switch {
	case s.holds && (left <= min(c.Group.Config.LowWater, s.most()/4) || left < s.wants):
		s.holds = false
		_ = c.ResumeRead() // it is not, if the connection ends
	case !s.holds && left >= s.most() && !c.Is(core.Closing|core.Broken) && !c.Reading.Is(core.ReadClosed):
		s.holds = true
		if left >= c.Group.Config.MaxRead {
			c.Reading.Set(core.Unoffered) // settle stops the receive at once
		}
		_ = c.PauseRead()
	}
}

// most is how much is received that nobody reads: less than a handler's connection would
// end for.
func (s *Stream) most() int {
	return min(max(s.c.Group.Config.HighWater, s.wants), s.c.Group.Config.MaxRead)
}

// Came implements core.Consumer: the turn takes the last chunk of a run.
func (e *streamEvents) Came(c *core.Conn, b reactor.Buffer) {
	if c.In.Attached() {
		c.Offer()
	}
	c.AddChunk(b)
	e.fresh = false
}

// Functions implements core.Consumer.
func (e *streamEvents) Functions() core.Functions {
	if e.vacant {
		return nil
	}
	return e
}

// Readers implements core.Consumer.
func (*streamEvents) Readers() core.Readers { return nil }

// EndAsked implements core.Functions.
func (e *streamEvents) EndAsked() bool { return e.closed.Load() }

// EndGathering implements core.Consumer.
func (e *streamEvents) EndGathering() {
	if k := e.shared.Load(); k != nil {
		k.duplex.EndGathering()
	}
}

// Abandoned implements core.Consumer.
func (e *streamEvents) Abandoned(c *core.Conn, err error) {
	if k := e.shared.Load(); k != nil {
		(*socketEvents)(k).Abandoned(c, err)
	}
}

// ReadsBeforeReset implements core.Consumer.
func (e *streamEvents) ReadsBeforeReset() bool { return !e.vacant }

// SendFailed implements core.Consumer: writes that wait fail in the next turn.
func (e *streamEvents) SendFailed(error) { e.fresh = false }

// WantsRoom implements core.Functions: a Write waits.
func (e *streamEvents) WantsRoom() bool { return e.wantedRoom }

// Departs implements core.Functions: all functions have returned, or are about to see why they
// must.
func (e *streamEvents) Departs(c *core.Conn) bool {
	if !e.vacant && (c.Cause() != nil && !e.told || !e.over) {
		c.Driver.Cx.Wake(c.Task.Waker())
	}
	return e.vacant
}

// ReadCapacity implements core.Consumer.
func (e *streamEvents) ReadCapacity() int {
	s := (*Stream)(e)
	return s.most() - len(s.c.In.Unread)
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
	if _, bare := e.outer.(*sequential); !bare {
		e.outer.OnDrain(c)
		return
	}
	(*Stream)(e).drain()
}

// How far a shutdown has come for a Stream.
const (
	serving    = iota
	draining   // the server shuts down
	allArrived // and all has been received that had arrived by then: a Read may end
)

func (s *Stream) isDraining() bool { return s.stage.Load() != serving }

// drain makes the functions see that the server shuts down.
func (s *Stream) drain() {
	s.drainTo(draining)
	s.c.WhenReceived(func() { s.drainTo(allArrived) })
}

func (s *Stream) drainTo(stage uint32) {
	s.stage.Store(stage)
	if k := s.shared.Load(); k != nil {
		k.duplex.Drain()
	}
	s.fresh = false
}

// OnClose implements Handler.
func (e *streamEvents) OnClose(c *Conn, err error) {
	if e.alarm != nil {
		e.alarm.Stop(c.core.Group.Runtime)
	}
	if k := e.shared.Load(); k != nil {
		k.end(err) // it may never have been opened
	}
	e.outer.OnClose(c, err)
}

// Begin implements core.Functions. It returns false, so that resume is not called, if all functions
// have gone on since the last event and nobody else has asked for a turn.
func (e *streamEvents) Begin() bool {
	s := (*Stream)(e)
	if s.vacant {
		return false
	}
	if s.signal.Look() {
		s.fresh = false
	}
	s.signal.Rouse()
	s.obey()
	return !s.fresh || s.c.Is(core.Broken) || e.End()
}

// End implements core.Functions: resume is to be called again if something has changed meanwhile.
func (e *streamEvents) End() bool {
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
		return e.Begin()
	}
	if !s.isShared && (s.holds || len(c.In.Unread) > 0) { // else the Socket or the splice does
		s.hold()
	}
	s.wantedRoom = s.needsRoom
	return false
}

// obey does what other goroutines have asked for.
func (s *Stream) obey() {
	c := s.c
	switch {
	case c.Is(core.Broken) || !s.closed.Load():
	case s.resets.Load():
		c.Abort()
	case s.resetsAtEnd.Load():
		c.CloseByReset(c.OpError("splice", net.ErrClosed))
	case !c.Is(core.Closing):
		_ = c.Close()
	}
}

// Resume implements core.Functions. It lets all waiting functions go on: each sees whether the task
// was woken for it.
func (e *streamEvents) Resume() {
	s := (*Stream)(e)
	if s.c.Is(core.Closing|core.Broken) && s.c.Cause() != nil && !s.told {
		s.told = true
		s.c.EndContext(s.c.Cause()) // before the functions' contexts: they have its cause then
		s.cancel(true)
	}
	if s.c.Is(core.Closing | core.Broken) {
		s.seeOver()
	}
	if s.timed() {
		s.looked = int64(s.c.Group.Runtime.Now())
	}
	if s.isShared && s.virtual() {
		s.ring()
	}
	for again := true; again; { // the end of one function may let others go on
		again = false
		s.needsRoom, s.wants = false, 0
		switch {
		case s.main.over:
		case s.main.begin != nil:
			again = s.runBranch(&s.main) && !s.main.over
		default: // what runBranch does, without its frames
			s.enter(&s.main)
			s.main.over = s.main.co.Resume(s.c.Driver.Cx)
			s.running, s.current = nil, nil
		}
		if s.main.over && !s.ending {
			s.ending = true
			s.cancel(false)
		}
		for i := 0; i < len(s.children); i++ { // one may start another
			again = s.runBranch(&s.children[i].b) || again
		}
		if len(s.children) > 0 {
			s.reap()
		}
	}
}

// seeOver is for the turns of a connection that ends. The waits in the Socket end now, since
// OnClose comes after the functions. Bytes that the Socket keeps can still be read.
func (s *Stream) seeOver() {
	s.over = s.c.Is(core.Broken)
	s.localAddr(true) // for the errors that they get
	if s.isShared {
		s.shared.Load().end(s.c.Cause())
	}
}

// runBranch lets one function go on. It reports whether others have to go on after that, because
// this was its end, or because it is to be canceled. A cancel has no effect before a coroutine has
// begun. So a function that begins after its cancellation is canceled at its first wait.
func (s *Stream) runBranch(b *branch) bool {
	if b.over {
		return false
	}
	first := b.begin != nil
	s.enter(b)
	b.resume(s.c.Driver.Cx)
	s.running, s.current = nil, nil
	if first && !b.over && (s.told || s.ending) {
		b.co.Cancel()
		return true
	}
	return b.over
}

// enter notes the function that goes on.
func (s *Stream) enter(b *branch) {
	if s.isShared {
		s.current = b
	} else {
		s.running = b
	}
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
		if err := b.b.co.Err(); err != nil && !b.joined && (s.failed == nil || s.failed.joined) && !errors.Is(err, sched.ErrCanceled) {
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
	s.vacant, s.wantedRoom = true, false
	if k := s.shared.Load(); k != nil {
		k.returned.Store(!k.duplex.State().Closed)
		_ = k.Close() // other tasks' waits end; it may be closed
		s.obeySocket(k)
	}
	err := s.main.co.Err() // which Sequential has counted
	orphan := err == nil && s.failed != nil && !s.failed.joined
	if orphan {
		err = s.failed.b.co.Err()
	}
	var p *core.PanicError
	switch {
	case errors.As(err, &p):
		var handler any = s.outer
		if orphan {
			handler = c.Handler
		}
		c.Group.Engine.HandlerPanicked(p, handler, c.LogAttr())
		c.Fail(err)
	case orphan:
		c.Check(err)
	case err != nil:
		c.Conclude(err)
	case !c.Is(core.Closing | core.Broken):
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
	if s.alarm == nil {
		s.alarm = new(alarm.Alarm)
	}
	s.alarm.Rang() // whether it did or not, next is when it is to ring
	s.alarm.Set(s.c.Group.Runtime, time.Duration(next), s.c.Task.Waker())
}

// streamOf is the Stream whose functions have turns in the task of a connection with the handler h;
// nil: there is none.
func streamOf(h any) *streamEvents {
	switch e := h.(type) {
	case *streamEvents:
		return e
	case *sharedEvents:
		return e.streamEvents
	case *relay:
		return e.functions
	}
	return nil
}

// HandlerName implements engine.Named.
func (*streamEvents) HandlerName() string { return "a function of Stream.Go" }

// UsersName implements core.StandIn.
func (e *streamEvents) UsersName() string { return engine.HandlerName(e.outer) }
