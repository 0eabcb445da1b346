package onworker

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
)

// ErrBlocksWorker is sched.ErrBlocksWorker.
var ErrBlocksWorker = errors.New("sched: the call would block its worker")

// Wait returns an error if the caller, which is about to wait, would block a worker.
func Wait() error {
	if entered.Load() == 0 {
		return nil
	}
	now := time.Now()
	if bubble.Of(now) { // its time may stand still
		return WaitAt(0)
	}
	return WaitAt(now.UnixNano())
}

// WaitAt is Wait for a caller that has read the clock. at is the time by the wall clock in
// nanoseconds, not long ago; 0: it is not known, and nothing is remembered.
func WaitAt(at int64) error {
	if entered.Load() == 0 {
		return nil
	}
	e := entry(here(), at)
	if at != 0 && slot(e).Load() == e {
		return nil
	}
	h := host()
	if h == nil {
		slot(e).Store(e)
		return nil
	}
	p := h.Place()
	switch {
	case p.MayBlock:
		return nil
	case p.Stackful:
		return refusal(p, "wait with the task's context")
	default:
		return refusal(p, "await a future in a task, or use BlockInPlace")
	}
}

// End returns an error if the caller, which is about to wait for the end of rt's workers, runs on
// one of them.
func End(rt any) error {
	if entered.Load() == 0 {
		return nil
	}
	if h := host(); h != nil && h.Place().Runtime == rt {
		return refusal(h.Place(), "call it on another goroutine")
	}
	return nil
}

func refusal(p Place, remedy string) error {
	return fmt.Errorf("%w: %s on worker %d: %s", ErrBlocksWorker, caller(), p.Worker, remedy)
}

// caller is the name of the function of this module that a user has called.
func caller() (name string) {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, module) || strings.HasSuffix(f.File, "_test.go") {
			return name
		}
		if exported := display(f.Function); exported != "" {
			name = exported
		}
		if !more {
			return name
		}
	}
}

const module = "github.com/suiro-go/suiro/"

// display is a function's name as a user writes it, such as syncx.Mutex.Lock for
// github.com/suiro-go/suiro/syncx.(*Mutex).Lock. "": users cannot call it.
func display(function string) string {
	name := strings.NewReplacer("[...]", "", "(*", "", ")", "").Replace(path.Base(function))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(function, module+"internal/") || last == "" || last[0] < 'A' || 'Z' < last[0] {
		return ""
	}
	return name
}
