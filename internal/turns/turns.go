package turns

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// An Owner gets a turn.
type Owner interface {
	// Begin starts the goroutine, which has the turn. It is called once, without a lock.
	Begin()
	// Signal wakes the goroutine, which has asked before and reads Given under a lock of its
	// own. Signal takes that lock, so the goroutine misses no turn.
	Signal()
}

// Turns are those that may be held at a time. The zero value is ready. All methods may be
// called from any goroutine, and under an owner's lock, except Begin and Leave.
//
// Invariant: running is the number of turns that are given, and at most the limit of the
// last Ask. While somebody waits, no turn that was left is unused. Each turn that is given is
// left once: by the goroutine before it waits for its peer, or at its end.
type Turns struct {
	mu      atomics.Mutex // inside an owner's lock, never around it
	running int
	queue   list.List[*Turn]
}

// A Turn is an owner's part of Turns, which guard all of it but Owner.
type Turn struct {
	Owner Owner // fixed before the first call

	place list.Node[*Turn]
	given bool
	begun bool // the goroutine exists: it waits for the turn itself
}

// Begin calls the owner's Begin, at once or when its turn comes. At most limit turns are
// given then.
func (t *Turns) Begin(u *Turn, limit int) {
	if t.Ask(u, limit) {
		u.Owner.Begin()
	}
}

// Ask takes a turn, or puts u at the end of the line. It reports whether u has a turn.
func (t *Turns) Ask(u *Turn, limit int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running >= limit {
		u.place.Value = u
		t.queue.PushBack(&u.place)
		return false
	}
	t.running++
	u.given, u.begun = true, true
	return true
}

// Given reports whether u has a turn.
func (t *Turns) Given(u *Turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return u.given
}

// Leave gives a turn back, if u has one, to the first in the line.
func (t *Turns) Leave(u *Turn) {
	next, begun := t.pass(u)
	switch {
	case next == nil:
	case begun:
		next.Signal()
	default:
		next.Begin()
	}
}

// pass gives u's turn to the next one, and returns its owner. nil: there is no turn to give, or
// nobody is in the line. begun: the owner's goroutine waits for it.
func (t *Turns) pass(u *Turn) (next Owner, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !u.given {
		return nil, false
	}
	u.given = false
	front := t.queue.Front()
	if front == nil {
		t.running--
		return nil, false
	}
	t.queue.Remove(front)
	v := front.Value
	begun = v.begun
	v.given, v.begun = true, true
	return v.Owner, begun
}

// WaitsToBegin reports whether u stands in line and its owner has no goroutine.
func (t *Turns) WaitsToBegin(u *Turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return u.place.Listed() && !u.begun
}

// Waiting is how many stand in line.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue.Len()
}

// Withdraw takes u out of the line. It reports whether u stood there: if not, and u asked, u
// has a turn.
func (t *Turns) Withdraw(u *Turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue.Remove(&u.place)
}

// GiveUp withdraws u unless its goroutine has begun: that withdraws by itself.
func (t *Turns) GiveUp(u *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !u.begun {
		t.queue.Remove(&u.place)
	}
}
