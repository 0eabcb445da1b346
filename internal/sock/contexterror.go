package sock

import (
	"context"
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
// ErrTimeout.
func ContextError(err error) error {
	if err == context.DeadlineExceeded {
		return ErrTimeout
	}
	return err
}
