// Package onworker tells whether the calling goroutine is one on which a worker runs tasks. A call
// that would block such a goroutine refuses instead, because the worker may wait for itself then.
//
// Package sched enters each worker's goroutine and each coroutine as a Host.
package onworker

import (
	"sync"

	"github.com/suiro-go/suiro/internal/goid"
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

// hosts are the hosts by their goroutines. Goroutines that wait at the same time seldom need the
// same shard.
var hosts [1 << shardsLog]shard

const (
	shardsLog = 6
	mixer     = 0x9e3779b97f4a7c15 // spreads a number over 64 bits: 2^64 divided by the golden ratio
)

type shard struct {
	mu sync.Mutex
	m  map[uintptr]Host
	_  [48]byte // each is in a cache line of its own
}

func shardOf(g uintptr) *shard { return &hosts[uint64(g)*mixer>>(64-shardsLog)] }

// Enter makes the calling goroutine a host until it calls Leave.
func Enter(h Host) {
	g := goid.Get()
	s := shardOf(g)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = make(map[uintptr]Host)
	}
	s.m[g] = h
}

// Leave ends what Enter has begun. It is called right before the goroutine ends.
func Leave() {
	g := goid.Get()
	s := shardOf(g)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, g)
}

// Here is the Host that the caller runs on; nil: the caller runs on an ordinary goroutine.
func Here() Host {
	g := goid.Get()
	s := shardOf(g)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[g]
}
