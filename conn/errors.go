package conn

import (
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrWriteQueueFull is returned by a write that found MaxWrite bytes queued, or
	// HighWater bytes while MaxWriteTotal is reached. Nothing of it was taken.
	ErrWriteQueueFull = core.ErrWriteQueueFull

	// ErrTooManyCalls is returned by a Do of a handle while 1024 functions wait to be called. The
	// connection's worker does not keep up, or its TLS handshake goes on.
	ErrTooManyCalls = core.ErrTooManyCalls

	// ErrReadBufferFull ends a connection whose handler left MaxRead bytes
	// unread.
	ErrReadBufferFull = core.ErrReadBufferFull

	// ErrWouldBlock is returned by Read when nothing is buffered: return from
	// OnData, which is called again when there is. It matches syscall.EAGAIN.
	ErrWouldBlock = core.ErrWouldBlock
)

// ErrSpliced is returned by Splice for a connection that is spliced already, or is a
// Stream's. If b is one, that is only known when its task looks: then a ends with it. The methods
// of a Stream return it while Stream.Splice has the bytes.
var ErrSpliced = core.ErrSpliced

// ErrShed ends a connection that used the most when Config.MaxMemory was reached.
var ErrShed = core.ErrShed

// A PanicError is the error of a connection whose handler panicked.
type PanicError = sched.PanicError
