package sock

import (
	"context"
	"errors"
	"os"
)

// ErrTimeout is a time-out as package net has it: it matches os.ErrDeadlineExceeded and
// context.DeadlineExceeded.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string   { return os.ErrDeadlineExceeded.Error() }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
func (timeoutError) Unwrap() []error {
	return []error{os.ErrDeadlineExceeded, context.DeadlineExceeded}
}

// ContextError is the error of a context that has ended, as an error of package net: a deadline is
// ErrTimeout, together with the context's cause if it has one.
func ContextError(err error) error {
	switch {
	case err == context.DeadlineExceeded:
		return ErrTimeout
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded):
		return causedTimeout{timeoutError{}, err}
	}
	return err
}

// A causedTimeout is a time-out for a reason.
type causedTimeout struct {
	timeoutError
	reason error
}

func (e causedTimeout) Error() string   { return e.reason.Error() }
func (e causedTimeout) Unwrap() []error { return append(e.timeoutError.Unwrap(), e.reason) }
