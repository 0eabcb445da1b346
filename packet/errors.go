package packet

import (
	"log/slog"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrWriteQueueFull is returned by a write that found conn.Config.MaxWrite bytes queued. Nothing
	// of it was taken. It is conn.ErrWriteQueueFull.
	ErrWriteQueueFull = engine.ErrWriteQueueFull

	// ErrTooManyCalls is returned by Handle.Do while 1024 functions wait to be called. It is
	// conn.ErrTooManyCalls.
	ErrTooManyCalls = engine.ErrTooManyCalls
)

// A PanicError is the error of a socket whose handler panicked.
type PanicError = sched.PanicError

// logAttr is the attribute that names the socket: it has many peers, or one that is connected.
func (c *Conn) logAttr() slog.Attr { return slog.Any("local", c.local) }
