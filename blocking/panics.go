package blocking

import (
	"log/slog"

	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/sched"
)

// try calls f, and returns its panic. If f calls runtime.Goexit, try does not return.
func try(f func()) *sched.PanicError { return (*sched.PanicError)(panics.Try(f)) }

// logPanic logs a panic that becomes nobody's result. rt is the runtime of a task that has waited
// for the call; it also counts the panic. nil: only goroutines have waited.
func logPanic(rt *sched.Runtime, what string, err *sched.PanicError) {
	if rt != nil {
		rt.LogPanic(what, err)
		return
	}
	slog.Default().Error(what, "panic", err.Value, "stack", string(err.Stack))
}
