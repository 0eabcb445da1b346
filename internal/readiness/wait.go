package readiness

import "github.com/suiro-go/suiro/internal/list"

// A Wait is the place of one call that waits. The zero value is ready for use. It must not be
// copied while it is registered.
type Wait[C Caller[B], B any] struct {
	Caller  C    // the one to wake; it changes under the owner's mutex while the call is registered
	Takes   bool // the call takes data that has arrived: one of them is woken at a time; fixed while registered
	Attempt      // the last one, unless the call has waited since; the caller's

	node       list.Node[*Wait[C, B]]
	registered bool  // and not resumed since; the caller's
	turn       bool  // others may wait for this call to end its turn; the caller's
	woken      bool  // by an edge, or with err
	parked     bool  // it waits by Park
	err        error // why there is nothing to wait for
}

// An Attempt is a system call that may have found the descriptor not ready. The zero value is none.
type Attempt struct {
	made  bool
	edges uint32 // how many edges had come before it
}

// Made reports whether there was an attempt.
func (a Attempt) Made() bool { return a.made }

// Registered reports whether the call was registered and not resumed since. Only its caller asks.
func (w *Wait[C, B]) Registered() bool { return w.registered }

// HasTurn reports whether others may wait for this call to end its turn. Only its caller asks.
func (w *Wait[C, B]) HasTurn() bool { return w.turn }

// Resume takes the result of a wait. While the call was not woken, waits is true. Otherwise the
// error is why the call can never succeed. If it is nil the call tries again, and has the turn if
// it takes. The caller ends the turn by Pass, Add or Drop. The owner's mutex is held, except by a
// goroutine that was woken.
func (w *Wait[C, B]) Resume() (waits bool, err error) {
	if !w.woken {
		return true, nil
	}
	err = w.err
	w.turn = w.Takes && err == nil
	w.registered, w.woken, w.err = false, false, nil
	return false, err
}
