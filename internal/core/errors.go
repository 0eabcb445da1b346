package core

import (
	"errors"
	"fmt"
	"io"
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
	ErrReadBufferFull = errors.New("conn: read buffer full: the handler has left all bytes unread")

	// ErrWouldBlock is returned by Read when nothing is buffered: return from
	// OnData, which is called again when there is. It matches syscall.EAGAIN.
	ErrWouldBlock = engine.ErrWouldBlock
)

// ErrSpliced is returned by Splice for a connection that is spliced already, or is a
// Stream's. If b is one, that is only known when its task looks: then a ends with it. The methods
// of a Stream return it while Stream.Splice has the bytes.
var ErrSpliced = errors.New("conn: the connection is spliced, or a Stream's")

var (
	errOfStream   = fmt.Errorf("conn: the connection is a Stream's: use the methods of that: %w", errors.ErrUnsupported)
	errTruncated  = fmt.Errorf("conn: the peer has ended without close-notify: %w", io.ErrUnexpectedEOF)
	ErrOverSocket = fmt.Errorf("conn: a Socket cannot be the handler within TLS: use crypto/tls over the Socket: %w", errors.ErrUnsupported)
)

// A PanicError is the error of a connection whose handler panicked.
type PanicError = sched.PanicError

// OpError wraps an error as package net does. A failed dial has no source unless its user has
// chosen the port.
func (c *Conn) OpError(op string, err error) error {
	e := &net.OpError{Op: op, Net: c.network(), Addr: c.RemoteAddr(), Err: err}
	if op != "dial" || c.Is(boundPort) {
		e.Source = c.LocalAddr()
	}
	return e
}

func (c *Conn) SysError(op, call string, errno syscall.Errno) error {
	return c.OpError(op, sock.Error(call, errno))
}
