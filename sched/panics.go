package sched

import "github.com/suiro-go/suiro/internal/panics"

// try calls f, and returns its panic. If f calls runtime.Goexit, try does not return.
func try(f func()) *PanicError { return (*PanicError)(panics.Try(f)) }

// LogPanic gives a panic that becomes nobody's result to Config.Logger, and counts it in
// Stats.Panics. what says where it happened. It is for packages that call functions for tasks. Any
// goroutine may call it.
func (rt *Runtime) LogPanic(what string, p *PanicError) {
	rt.panics.Add(1)
	rt.cfg.Logger.Error(what, "panic", p.Value, "stack", string(p.Stack))
}
