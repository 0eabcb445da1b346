package sched

import (
	"errors"
	"fmt"

	"github.com/suiro-go/suiro/internal/onworker"
)

// ErrMisuse says that a call cannot wait, or spawn a task, with the context that it was given. Errors
// that match it name the call and say what to use instead. If such an error is the result of a task
// that nobody takes, it is logged.
var ErrMisuse = errors.New("sched: wrong context")

// mayNotSpawn is the error of a spawn for which the context is not good.
func (cx *Context) mayNotSpawn() error {
	why := "its task or Poll has ended, or this is another goroutine or task: pass the own task's context, or the runtime: cx.Runtime()"
	if cx.coroutine == nil && cx.worker == nil {
		why = "a goroutine's Poll has no runtime: pass a *Runtime"
	}
	return fmt.Errorf("%w for %s: %s", ErrMisuse, onworker.Caller(), why)
}

// misuse is the error of a wait for which mayAwait is false.
func (cx *Context) misuse() error {
	var why string
	switch {
	case cx == nil:
		why = "it is nil: pass a task's context, or context.Background() in a goroutine"
	case cx.coroutine == nil && cx.isHere():
		why = "a Poll, a hook and a stackless task must not wait: poll the future there"
	case cx.coroutine == nil:
		why = "it is that of a Poll that has returned: pass the context of the function that waits"
	default:
		why = "its task has ended, or this is another goroutine or task: pass the own task's context, or in a goroutine sched.WithoutTask(ctx)"
	}
	return fmt.Errorf("%w for %s: %s", ErrMisuse, onworker.Caller(), why)
}
