package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

var (
	// errTimeout is a time-out as package net has it.
	errTimeout error = timeoutError{}
	// errCanceled is the end of a dial whose context was cancelled.
	errCanceled = fmt.Errorf("the dial was given up: %w", context.Canceled)
)

type timeoutError struct{}

func (timeoutError) Error() string   { return os.ErrDeadlineExceeded.Error() }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
func (timeoutError) Unwrap() []error {
	return []error{os.ErrDeadlineExceeded, context.DeadlineExceeded}
}

// Dial connects and awaits the outcome, in a stackful task. When it returns a handle,
// h.OnOpen has been called. With an error h is not called; but if the task is
// aborted when the connection has just been established, h is told of that and of its
// end.
func (d *Dialer) Dial(cx *sched.Context, network, addr string, h Handler) (Handle, error) {
	handle, err := sched.Await(cx, d.DialFuture(network, addr, h))
	return handle, d.ended(network, addr, err)
}

// DialHandler is Dial for ordinary goroutines, until ctx ends.
func (d *Dialer) DialHandler(ctx context.Context, network, addr string, h Handler) (Handle, error) {
	if err := ctx.Err(); err != nil {
		return Handle{}, d.ended(network, addr, err)
	}
	g, err := d.group()
	if err != nil {
		return Handle{}, d.ended(network, addr, err)
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	handle, err := sched.Block(ctx, g.Runtime(), d.dialFuture(ctx, network, addr, h))
	return handle, d.ended(network, addr, err)
}

// ended makes an error of package net of what ends a wait.
func (d *Dialer) ended(network, addr string, err error) error {
	switch {
	case err == nil:
		return nil
	case err == context.DeadlineExceeded:
		err = errTimeout
	case err == context.Canceled:
		err = errCanceled
	}
	return d.opError(network, addr, conn.Portable(err))
}

// DialFuture is Dial as a future, for one connection: its first poll starts it.
// Abandoned, it ends the attempt, or the connection.
func (d *Dialer) DialFuture(network, addr string, h Handler) *DialFuture {
	return d.dialFuture(context.Background(), network, addr, h)
}

func (d *Dialer) dialFuture(ctx context.Context, network, addr string, h Handler) *DialFuture {
	f := &DialFuture{}
	f.opening.inner = h
	f.start = func(h Handler) (Handle, error) { return d.start(ctx, network, addr, h) }
	return f
}

// A DialFuture is a connection that is being established.
type DialFuture struct {
	opening opening
	start   func(Handler) (Handle, error)
	handle  Handle
	started bool
}

var (
	_ sched.Future[Handle] = (*DialFuture)(nil)
	_ sched.Canceler       = (*DialFuture)(nil)
	_ conn.Handler         = (*opening)(nil)
)

// Poll is the handle, once OnOpen has been called, or the error.
func (f *DialFuture) Poll(cx *sched.Context) (Handle, error) {
	if !f.started {
		f.started = true
		f.opening.waker = cx.Waker() // nobody else knows of it yet
		handle, err := f.start(&f.opening)
		if err != nil {
			return Handle{}, err
		}
		f.handle = handle
	}
	o := &f.opening
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.done:
		o.waker = cx.Waker()
		return Handle{}, sched.ErrPending
	case o.err != nil:
		return Handle{}, o.err
	}
	return f.handle, nil
}

// Cancel ends the attempt.
func (f *DialFuture) Cancel() {
	if f.started {
		_ = f.handle.Abort() // it may have ended
	}
}

// An opening is the handler of a connection until that is established, and tells who
// waits for it.
type opening struct {
	Base
	inner Handler

	mu    sync.Mutex
	done  bool
	err   error
	waker sched.Waker
}

// OnData is not called: OnOpen comes first, and changes the handler.
func (o *opening) OnData(*Conn) error { return errors.ErrUnsupported }

func (o *opening) OnOpen(c *Conn) error {
	defer o.finish(nil) // also if it panics: then the handler is told of the end
	_ = c.SetHandler(o.inner)
	return o.inner.OnOpen(c)
}

func (o *opening) OnClose(_ *Conn, err error) { o.finish(err) }

func (o *opening) finish(err error) {
	o.mu.Lock()
	o.done, o.err = true, err
	w := o.waker
	o.waker = sched.Waker{}
	o.mu.Unlock()
	w.Wake()
}
