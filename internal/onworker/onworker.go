// Package onworker tells whether the calling goroutine is one on which a worker runs tasks. A call
// that would block such a goroutine refuses instead, because the worker may wait for itself then.
//
// Package sched enters each worker's goroutine and each coroutine as a Host. The number of a
// goroutine in the output of runtime.Stack identifies it, but to get that takes 3 to 15 µs. So two
// quicker checks come first (see Wait).
package onworker

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// A Host is a goroutine on which a worker runs tasks: the worker's own, or a coroutine.
type Host interface {
	// Place is called on the host's goroutine only.
	Place() Place
}

// A Place says where a Host runs, and which code.
type Place struct {
	Runtime  any  // the *sched.Runtime
	Worker   int  // the index of the worker
	Stackful bool // the code is a task's that can wait with its context
	MayBlock bool // the code is in BlockInPlace
}

var (
	mu    sync.Mutex
	hosts = make(map[uint64]Host)   // by the numbers of their goroutines
	roots atomic.Pointer[[]uintptr] // the entries of the functions that began the hosts' goroutines

	entered atomic.Uint64 // how many hosts have been entered
)

// Enter makes the calling goroutine a host until Leave, and returns its number.
func Enter(h Host) (goroutine uint64) {
	goroutine = number()
	root, _ := rootOfCaller()
	mu.Lock()
	defer mu.Unlock()
	hosts[goroutine] = h
	if all := knownRoots(); !slices.Contains(all, root) {
		all = append(slices.Clone(all), root)
		roots.Store(&all)
	}
	entered.Add(1)
	return goroutine
}

// Leave ends what Enter has begun. It is called right before the goroutine ends.
func Leave(goroutine uint64) {
	mu.Lock()
	defer mu.Unlock()
	delete(hosts, goroutine)
}

func knownRoots() []uintptr {
	if all := roots.Load(); all != nil {
		return *all
	}
	return nil
}

// host is the host that the caller runs on; nil: the caller runs on an ordinary goroutine. The
// function that began an ordinary goroutine is seldom one that began a host, and to find that
// function takes about a tenth of the time that the number takes.
func host() Host {
	root, found := rootOfCaller()
	if found && !slices.Contains(knownRoots(), root) {
		return nil
	}
	goroutine := number()
	mu.Lock()
	defer mu.Unlock()
	return hosts[goroutine]
}

// rootOfCaller is the entry of the function that began the calling goroutine. found is false if the
// stack is too deep.
func rootOfCaller() (entry uintptr, found bool) {
	var pcs [64]uintptr
	n := runtime.Callers(0, pcs[:])
	if n == len(pcs) || n < 2 {
		return 0, false
	}
	return runtime.FuncForPC(pcs[n-2] - 1).Entry(), true // the last one is runtime.goexit
}

// number is the number of the calling goroutine in the output of runtime.Stack.
func number() uint64 {
	var buf [64]byte
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseUint(string(digits), 10, 64)
	return n
}
