// Package procs raises GOMAXPROCS for spare workers. A task that computes keeps its processor of
// Go's, so a spare would wait for one until Go's scheduler interrupts the task, after 10 ms or
// more.
//
// A runtime raises it when it makes its first spare, or when its tasks compute for long. For most
// programs it stays as it is. Of several runtimes the one with the most spares decides by how much.
// It is set back when the last of them ends. A program that sets GOMAXPROCS meanwhile keeps what it
// has set.
package procs

import (
	"runtime"
	"sync"
)

var (
	mu        sync.Mutex
	users     = make(map[any]int) // by how much each wants it raised
	base      int                 // GOMAXPROCS before
	raised    int                 // to what it was set
	automatic bool                // base was Go's own choice, which follows a container's limits
)

// Raise raises GOMAXPROCS by n until Lower is called with the same user. It stops the world.
func Raise(user any, n int) {
	mu.Lock()
	defer mu.Unlock()
	now := runtime.GOMAXPROCS(0)
	if len(users) == 0 {
		base, raised = now, now
		runtime.SetDefaultGOMAXPROCS()
		automatic = runtime.GOMAXPROCS(0) == base
	} else if now != raised {
		users[user] = n
		return
	}
	users[user] = n
	for _, n := range users {
		raised = max(raised, base+n)
	}
	runtime.GOMAXPROCS(raised)
}

// Lower takes a Raise back.
func Lower(user any) {
	mu.Lock()
	defer mu.Unlock()
	delete(users, user)
	switch {
	case len(users) > 0 || runtime.GOMAXPROCS(0) != raised:
	case automatic:
		runtime.SetDefaultGOMAXPROCS()
	default:
		runtime.GOMAXPROCS(base)
	}
}

// Own is GOMAXPROCS without what it was raised by here.
func Own() int {
	mu.Lock()
	defer mu.Unlock()
	now := runtime.GOMAXPROCS(0)
	if len(users) == 0 || now != raised {
		return now
	}
	return base
}
