package packet

import (
	"log/slog"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrWriteQueueFull is returned by a write that found conn.Config.MaxWrite bytes queued. The
	// datagram was not queued. It is conn.ErrWriteQueueFull.
	ErrWriteQueueFull = engine.ErrWriteQueueFull

	// ErrTooManyCalls is returned by Handle.Do while 1024 functions wait to be called. It is
	// conn.ErrTooManyCalls.
	ErrTooManyCalls = engine.ErrTooManyCalls

	// ErrWouldBlock is returned by a TryX that would have to wait. It matches syscall.EAGAIN. It is
	// conn.ErrWouldBlock.
	ErrWouldBlock = engine.ErrWouldBlock
)

// A PanicError is the error of a socket whose handler panicked.
type PanicError = sched.PanicError

// logAttr is the attribute that names the socket in the log: its local address.
func (c *Conn) logAttr() slog.Attr { return slog.Any("local", c.local) }
