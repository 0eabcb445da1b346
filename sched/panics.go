package sched

import (
	"runtime"
	"runtime/debug"
)

// A function that does not return has panicked or called runtime.Goexit. recover cannot always tell
// which: it returns nil after a Goexit, and with GODEBUG=panicnil=1 also after panic(nil). But the
// caller of that function goes on after a recovered panic, and does not after a Goexit. So one
// function calls and recovers, and its caller notices a Goexit by a deferred function.

// panicOf is the error of a call that did not return, with the result of recover. It means nothing
// after a Goexit. Then it must be cheap, because a Goexit leaves the stack deep.
func panicOf(v any) *PanicError {
	if v == nil {
		return &PanicError{Value: new(runtime.PanicNilError)}
	}
	return &PanicError{Value: v, Stack: debug.Stack()}
}

// try calls f, and returns its panic. If f calls runtime.Goexit, try does not return.
func try(f func()) (p *PanicError) {
	returned := false
	defer func() {
		if !returned {
			p = panicOf(recover())
		}
	}()
	f()
	returned = true
	return nil
}

// LogPanic gives a panic that becomes nobody's result to Config.Logger, and counts it in
// Stats.Panics. what says where it happened. It is for packages that call functions for tasks. Any
// goroutine may call it.
func (rt *Runtime) LogPanic(what string, p *PanicError) {
	rt.panics.Add(1)
	rt.cfg.Logger.Error(what, "panic", p.Value, "stack", string(p.Stack))
}
