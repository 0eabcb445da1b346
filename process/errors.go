package process

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrNoProcess says that a PID's process has ended, or that there never was one.
	ErrNoProcess = errors.New("process: no such process")

	// ErrMailboxFull says that a mailbox has no room for a message. The message was not sent.
	ErrMailboxFull = errors.New("process: mailbox is full")

	// ErrCanceled says that the process has received a cancel event: it should end. A process that
	// ends with it has ended normally. It matches context.Canceled.
	ErrCanceled = fmt.Errorf("process: canceled: %w", context.Canceled)

	// ErrKilled is the reason of a process that Kill has ended.
	ErrKilled = errors.New("process: killed")

	// ErrShutdown says that the system is shutting down and starts no processes.
	ErrShutdown = errors.New("process: system is shutting down")

	// ErrNameTaken says that another process has the name.
	ErrNameTaken = errors.New("process: name is taken")

	// ErrNoHandler completes a yield whose command has no handler.
	ErrNoHandler = errors.New("process: no handler for the command")

	// ErrWrongType is why a message was dropped that is not of the Inbox's type.
	ErrWrongType = errors.New("process: message has the wrong type")
)

// An ExitError is the reason of a process that has ended because a linked process has.
type ExitError struct {
	PID PID   // the linked process
	Err error // its reason
}

// Error names the process and its reason.
func (e *ExitError) Error() string { return fmt.Sprintf("process: linked %v: %v", e.PID, e.Err) }

// Unwrap returns the reason of the linked process.
func (e *ExitError) Unwrap() error { return e.Err }

// isNormal reports whether a process with that reason has ended as intended.
func isNormal(reason error) bool { return reason == nil || errors.Is(reason, ErrCanceled) }
