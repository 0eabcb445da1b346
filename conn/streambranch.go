package conn

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// A branch is a function of a stream that runs on a coroutine of its own.
type branch struct {
	begin func(*sched.Context) error // until it has begun
	never bool                       // it will not
	over  bool
	co    sched.Coroutine
}

// resume lets it run until it waits.
func (b *branch) resume(cx *sched.Context) {
	if fn := b.begin; fn != nil {
		b.begin = nil
		b.over = b.co.Begin(cx, fn)
		return
	}
	b.over = b.co.Resume(cx)
}

// A Branch is a function that Stream.Go has started.
type Branch struct {
	b      branch
	joined bool // somebody asks for its error
}

// Go runs fn beside the caller, on a coroutine of the same task. So both may use the stream, and
// data that they share needs no lock as long as they do not wait in between. fn begins when the
// caller waits, and ends with the stream's function at the latest: its Awaits, Reads and Writes
// then fail. An error that nobody joins becomes the function's. Once the stream's function has
// returned, or outside its functions, fn is never begun: a Stream that is not a handler's has none,
// and its task starts others with sched.Go.
func (s *Stream) Go(fn func(cx *sched.Context) error) *Branch {
	b := &Branch{b: branch{begin: fn}}
	if s.running == nil && s.current == nil || s.ending {
		b.b.begin, b.b.never, b.b.over = nil, true, true
		return b
	}
	s.children = append(s.children, b)
	return b
}

// Join waits until the function has returned, and is its error: a *sched.PanicError if
// it panicked, sched.ErrCanceled if it was never begun.
func (b *Branch) Join(ctx context.Context) error {
	b.joined = true
	_, err := sched.Await(ctx, sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) {
		if b.b.over {
			return struct{}{}, nil
		}
		return struct{}{}, sched.ErrPending // its end wakes those that wait
	}))
	switch {
	case err != nil:
	case b.b.never:
		err = sched.ErrCanceled
	default:
		err = b.b.co.Err()
	}
	return err
}
