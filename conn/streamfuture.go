package conn

import (
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/sched"
)

// Readable is a future that is done when Read would not wait: for Select. It takes no byte.
//
// Any task may poll it, and the other futures of a Stream. Outside of the functions of a handler's
// Stream that makes the connection shared, as Bind does.
func (s *Stream) Readable() sched.Future[struct{}] { return s.when(duplex.Readable) }

// Writable is a future that is done when Write would not wait before it has written something.
func (s *Stream) Writable() sched.Future[struct{}] { return s.when(duplex.Writable) }

// Closed is a future that is done when Close was called or the connection has ended. The peer's end
// alone, after which the connection can be written, is Readable.
func (s *Stream) Closed() sched.Future[struct{}] { return s.when(duplex.Closed) }

// Draining is a future that is done when the server shuts down, or the connection has ended. The
// function should then return; it is ended when the server has waited for long enough. Once
// Draining has been called, Read does not return io.EOF because of the shutdown, see Sequential.
func (s *Stream) Draining() sched.Future[struct{}] {
	s.watches.Store(true)
	return s.when(duplex.Draining)
}

func (s *Stream) when(e duplex.Event) sched.Future[struct{}] {
	if s.ofTask != nil {
		return s.ofTask.socket.duplex.Watch(e)
	}
	return &streamWatch{s: s, event: e}
}

// A streamWatch is a future of a handler's Stream.
type streamWatch struct {
	s     *Stream
	event duplex.Event
	watch *duplex.Watch // of a shared connection; nil: not yet
}

var _ sched.Canceler = (*streamWatch)(nil)

// Poll implements sched.Future.
func (f *streamWatch) Poll(cx *sched.Context) (struct{}, error) {
	s := f.s
	switch {
	case f.event == duplex.Readable && s.isIdle(cx):
		f.Cancel()
		return struct{}{}, nil
	case f.watch != nil:
	case s.shared.Load() != nil || cx.Waker() != s.c.Task.Waker():
		f.watch = s.share().duplex.Watch(f.event)
	case s.holdsEvent(f.event):
		return struct{}{}, nil
	default:
		return struct{}{}, sched.ErrPending // each event of the connection polls it again
	}
	return f.watch.Poll(cx)
}

// isIdle reports whether a Read of the handler's function with context cx, of a shared Stream,
// returns io.EOF because the server shuts down.
func (s *Stream) isIdle(cx *sched.Context) bool {
	return s.isDraining() && s.shared.Load() != nil && cx.Waker() == s.c.Task.Waker() && (*idleStream)(s).Quit() != nil
}

// Cancel implements sched.Canceler.
func (f *streamWatch) Cancel() {
	if f.watch != nil {
		f.watch.Cancel()
	}
}

// holdsEvent is for the functions of the handler alone.
func (s *Stream) holdsEvent(e duplex.Event) bool {
	c := s.c
	switch e {
	case duplex.Readable:
		_, _, err := s.tryRead(nil)
		return err != nil || len(c.In.Unread) > 0 || c.Is(core.Broken) || c.Reading.Is(core.Ended) || s.idleAtTheEnd()
	case duplex.Writable:
		if s.unwritable() != nil || s.room() > 0 {
			return true
		}
		s.needsRoom = true
		return false
	case duplex.Draining:
		return s.isDraining()
	default:
		return s.closed.Load() || c.Is(core.Closing|core.Broken)
	}
}
