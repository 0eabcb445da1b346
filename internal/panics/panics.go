// Package panics recovers panics, also that of panic(nil).
//
// A function that does not return has panicked or called runtime.Goexit. recover cannot always tell
// which: it returns nil after a Goexit, and with GODEBUG=panicnil=1 also after panic(nil). But the
// caller of that function goes on after a recovered panic, and does not after a Goexit. So one
// function calls and recovers, and its caller notices a Goexit by a deferred function.
package panics

import (
	"runtime"
	"runtime/debug"
)

// A Panic is a panic that was recovered. It has the fields of sched.PanicError, and converts to it.
type Panic struct {
	Value any    // the argument of panic
	Stack []byte // as debug.Stack formats it; nil: it was panic(nil), with GODEBUG=panicnil=1
}

// Of is the panic of a call that did not return, with the result of recover. It means nothing after
// a Goexit. Then it must be cheap, because a Goexit leaves the stack deep.
func Of(recovered any) *Panic {
	if recovered == nil {
		return &Panic{Value: new(runtime.PanicNilError)}
	}
	return &Panic{Value: recovered, Stack: debug.Stack()}
}

// Try calls f, and returns its panic. If f calls runtime.Goexit, Try does not return.
func Try(f func()) (p *Panic) {
	returned := false
	defer func() {
		if !returned {
			p = Of(recover())
		}
	}()
	f()
	returned = true
	return nil
}
