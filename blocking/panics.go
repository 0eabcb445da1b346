package blocking

import (
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/suiro-go/suiro/sched"
)

// try calls f, and returns its panic. If f calls runtime.Goexit, try does not return. recover alone
// cannot tell that from panic(nil) with GODEBUG=panicnil=1.
func try(f func()) (p *sched.PanicError) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			p = &sched.PanicError{Value: v, Stack: debug.Stack()}
		} else {
			p = &sched.PanicError{Value: new(runtime.PanicNilError)}
		}
	}()
	f()
	returned = true
	return nil
}

// logPanic logs a panic that becomes nobody's result. rt is the runtime of a task that has waited
// for the call; it also counts the panic. nil: only goroutines have waited.
func logPanic(rt *sched.Runtime, what string, err *sched.PanicError) {
	if rt != nil {
		rt.LogPanic(what, err)
		return
	}
	slog.Default().Error(what, "panic", err.Value, "stack", string(err.Stack))
}
