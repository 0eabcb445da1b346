package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// DialUnix connects to a Unix socket on which open files are passed (SCM_RIGHTS), and waits for the
// connection (see sched.Block). The UnixStream stays open until Close. Fields for TCP and
// Dialer.Near do not count. TLS and Proxy are errors that match errors.ErrUnsupported, and so is
// Windows. The end of ctx and an abort of the task end the attempt: the error then matches that of
// ctx, or sched.ErrCanceled.
func (d *Dialer) DialUnix(ctx context.Context, path string) (*UnixStream, error) {
	s, err := await(ctx, d, d.DialUnixFuture(path))
	return s, d.ended("unix", path, err)
}

// DialUnixFuture is DialUnix as a future, for one connection: its first poll starts the dial. A
// dropped future ends the attempt.
func (d *Dialer) DialUnixFuture(path string) sched.Future[*UnixStream] {
	return &dialUnixFuture{dialer: d, path: path}
}

// A dialUnixFuture is a UnixStream that is being dialed.
type dialUnixFuture struct {
	dialer *Dialer
	path   string
	dial   sched.Future[*UnixStream] // nil before the first poll
}

var (
	_ sched.Future[*UnixStream] = (*dialUnixFuture)(nil)
	_ sched.Canceler            = (*dialUnixFuture)(nil)
)

// Poll returns the connection, or the error.
func (f *dialUnixFuture) Poll(cx *sched.Context) (*UnixStream, error) {
	if f.dial == nil {
		var err error
		if f.dial, err = f.dialer.dialUnix(f.path); err != nil {
			return nil, f.dialer.opError("unix", f.path, err)
		}
	}
	return f.dial.Poll(cx)
}

// Cancel ends the attempt.
func (f *dialUnixFuture) Cancel() {
	if f.dial != nil {
		f.dial.(sched.Canceler).Cancel()
	}
}

func (d *Dialer) dialUnix(path string) (sched.Future[*UnixStream], error) {
	if d.TLS != nil || d.Proxy != nil {
		return nil, fmt.Errorf("server: Dialer.TLS or Proxy is set, and files pass beside plain bytes alone: use a Dialer without them: %w", errors.ErrUnsupported)
	}
	g, err := d.group()
	if err != nil {
		return nil, err
	}
	cfg := conn.UnixDialConfig{Addr: &net.UnixAddr{Name: path, Net: "unix"}, Control: d.control(false)}
	if cfg.Timeout, err = d.remaining(); err != nil {
		return nil, err
	}
	if d.LocalAddr != nil {
		local, ok := d.LocalAddr.(*net.UnixAddr)
		if !ok {
			return nil, fmt.Errorf("server: Dialer.LocalAddr is a %T; use a *net.UnixAddr", d.LocalAddr)
		}
		cfg.LocalAddr = local
	}
	return g.DialUnixFuture(cfg), nil
}
