package conn

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrWriteQueueFull is returned by a write that found MaxWrite bytes queued, or
	// HighWater bytes while MaxWriteTotal is reached. Nothing of it was taken.
	ErrWriteQueueFull = engine.ErrWriteQueueFull

	// ErrTooManyCalls is returned by a Do of a handle while 1024 functions wait to be called. The
	// connection's worker does not keep up, or its TLS handshake goes on.
	ErrTooManyCalls = engine.ErrTooManyCalls

	// ErrReadBufferFull ends a connection whose handler left MaxRead bytes
	// unread.
	ErrReadBufferFull = errors.New("conn: read buffer full: the handler reads nothing of what has come")

	// ErrWouldBlock is returned by Read when nothing is buffered: return from
	// OnData, which is called again when there is. It matches syscall.EAGAIN.
	ErrWouldBlock error = fmt.Errorf("conn: nothing buffered: %w", syscall.EAGAIN)
)

// A PanicError is the error of a connection whose handler panicked.
type PanicError = sched.PanicError

// opError wraps an error as package net does.
func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

func (c *Conn) sysError(op, call string, errno syscall.Errno) error {
	return c.opError(op, sock.Error(call, errno))
}
