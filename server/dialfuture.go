package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// errCanceled is the error of a dial whose context was canceled.
var errCanceled = fmt.Errorf("the dial was given up: %w", context.Canceled)

// groupError adds net.ErrClosed to an error of a group whose workers have stopped.
func groupError(err error) error {
	if errors.Is(err, sched.ErrClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("the group is closed: %w: %w", net.ErrClosed, err)
	}
	return err
}

// DialHandler connects and waits for the outcome (see sched.Block). When it returns a handle,
// h.OnOpen has been called. With an error h is not called, except in this case: ctx ends or the
// task is aborted when the connection has just been established. Then h.OnOpen and h.OnClose are
// called.
func (d *Dialer) DialHandler(ctx context.Context, network, addr string, h Handler) (Handle, error) {
	handle, err := await(ctx, d, d.dialHandlerFuture(sched.WithoutTask(ctx), network, addr, h))
	return handle, d.ended(network, addr, err)
}

// ended returns the error that ended a wait, in the form of package net.
func (d *Dialer) ended(network, addr string, err error) error {
	switch {
	case err == nil:
		return nil
	case err == context.Canceled:
		err = errCanceled
	}
	return d.opError(network, addr, conn.Portable(groupError(sock.ContextError(err))))
}

// DialHandlerFuture is DialHandler as a future, for one connection. Its first poll starts the dial.
// A dropped future ends the attempt, or the connection. So does a Join that is abandoned or fails
// (see sched.Undoer).
func (d *Dialer) DialHandlerFuture(network, addr string, h Handler) sched.Future[Handle] {
	return d.dialHandlerFuture(context.Background(), network, addr, h)
}

func (d *Dialer) dialHandlerFuture(ctx context.Context, network, addr string, h Handler) *dialHandlerFuture {
	f := &dialHandlerFuture{ctx: ctx, dialer: d, to: target{network, addr}}
	f.opening.inner = h
	return f
}

// A dialHandlerFuture is a connection with a Handler that is being established.
type dialHandlerFuture struct {
	opening opening
	ctx     context.Context // the Resolver gets its values
	dialer  *Dialer
	to      target
	handle  Handle
	started bool
}

var (
	_ sched.Future[Handle] = (*dialHandlerFuture)(nil)
	_ sched.Canceler       = (*dialHandlerFuture)(nil)
	_ sched.Undoer         = (*dialHandlerFuture)(nil)
	_ conn.Handler         = (*opening)(nil)
)

// Poll returns the handle, once OnOpen has been called, or the error.
func (f *dialHandlerFuture) Poll(cx *sched.Context) (Handle, error) {
	handle, err := f.poll(cx)
	if err == sched.ErrPending {
		return handle, err
	}
	return handle, f.dialer.ended(f.to.network, f.to.addr, err)
}

func (f *dialHandlerFuture) poll(cx *sched.Context) (Handle, error) {
	if !f.started {
		f.started = true
		f.opening.waker = cx.Waker() // no other goroutine knows the opening yet
		handle, err := f.dialer.start(f.ctx, f.to.network, f.to.addr, &f.opening)
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
func (f *dialHandlerFuture) Cancel() {
	if f.started {
		_ = f.handle.Abort() // it may have ended
	}
}

// Undo implements sched.Undoer: nobody takes the handle.
func (f *dialHandlerFuture) Undo() { f.Cancel() }

// An opening is the handler of a connection that is being established. It reports the outcome to
// the waiting future.
type opening struct {
	Base
	inner Handler

	mu    sync.Mutex
	done  bool
	err   error
	waker sched.Waker
}

// OnData is not called: OnOpen comes first and changes the handler.
func (o *opening) OnData(*Conn) error { return errors.ErrUnsupported }

func (o *opening) OnOpen(c *Conn) error {
	defer o.finish(nil) // also if it panics: then the handler's OnClose is called
	_ = c.SetHandler(o.inner)
	return o.inner.OnOpen(c)
}

func (o *opening) OnClose(_ *Conn, err error) { o.finish(err) }

// Abandoned is called by package conn if the workers stop during the dial.
func (o *opening) Abandoned(err error) { o.finish(err) }

func (o *opening) finish(err error) {
	o.mu.Lock()
	if !o.done {
		o.done, o.err = true, err
	}
	w := o.waker
	o.waker = sched.Waker{}
	o.mu.Unlock()
	w.Wake()
}
