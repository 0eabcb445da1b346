package chanx

import (
	"errors"
	"fmt"
	"os"
)

var (
	// ErrClosed is the error of a send when nobody will receive any more. It is also the error of
	// a receive when nobody will send and all values have been received. It matches os.ErrClosed.
	// A send with this error has sent nothing: the caller keeps the value.
	ErrClosed error = closedError{}

	// ErrFull is the error of TrySend and TryReserve when there is no room, or other senders wait
	// for it. The value has not been sent.
	ErrFull = errors.New("chanx: full: wait with Send")

	// ErrEmpty is the error of the Try forms of receiving when no value is available yet.
	ErrEmpty = errors.New("chanx: empty: wait with Recv")
)

type closedError struct{}

func (closedError) Error() string { return "chanx: closed" }
func (closedError) Unwrap() error { return os.ErrClosed }

// A LaggedError says that a receiver of a broadcast channel was too slow: values that it had not
// received have been overwritten. The next receive returns the oldest remaining value.
type LaggedError struct {
	Missed uint64 // the number of missed values
}

// Error says how many values were missed.
func (e LaggedError) Error() string {
	return fmt.Sprintf("chanx: receiver lagged behind, %d values missed: receive more often or make the capacity larger", e.Missed)
}
