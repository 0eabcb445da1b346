package onworker

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
)

// ErrBlocksWorker is sched.ErrBlocksWorker.
var ErrBlocksWorker = errors.New("sched: the call would block its worker")

// Wait returns an error if the caller, which is about to wait, would block a worker.
func Wait() error {
	h := Here()
	if h == nil {
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
	if h := Here(); h != nil && h.Place().Runtime == rt {
		return refusal(h.Place(), "call it on another goroutine")
	}
	return nil
}

func refusal(p Place, remedy string) error {
	return fmt.Errorf("%w: %s on worker %d: %s", ErrBlocksWorker, Caller(), p.Worker, remedy)
}

// Caller is the name of the function of this module that a user has called.
func Caller() (name string) {
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
