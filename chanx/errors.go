package chanx

import (
	"errors"
	"fmt"
	"os"
)

var (
	// ErrClosed is what a send returns when nobody will receive any more, and a
	// receive when nobody will send and everything sent has been received. It
	// matches os.ErrClosed. A send that returns it has sent nothing: the value is
	// still the caller's.
	ErrClosed error = closedError{}

	// ErrFull is what TrySend and TryReserve return when there is no room, or others
	// wait for it. The value has not been sent.
	ErrFull = errors.New("chanx: full: wait with Send or SendContext")

	// ErrEmpty is what the Try forms of receiving return when there is nothing yet.
	ErrEmpty = errors.New("chanx: empty: wait with Recv or RecvContext")

	// ErrLagged matches every LaggedError.
	ErrLagged = errors.New("chanx: receiver lagged behind")
)

type closedError struct{}

func (closedError) Error() string { return "chanx: closed" }
func (closedError) Unwrap() error { return os.ErrClosed }

// A LaggedError says that a receiver of a broadcast was too slow: values it had not
// received have been overwritten. The next receive gives the oldest that is left.
type LaggedError struct {
	Missed uint64 // how many
}

// Error says how many values were missed.
func (e LaggedError) Error() string {
	return fmt.Sprintf("chanx: receiver lagged behind, %d values missed: receive more often or make the capacity larger", e.Missed)
}

// Is reports whether target is ErrLagged.
func (LaggedError) Is(target error) bool { return target == ErrLagged }
