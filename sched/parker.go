package sched

import "github.com/suiro-go/suiro/internal/atomics"

// A parker records whether a worker waits in its driver, so that waking a running worker costs no
// system call.
//
// No wake-up is lost. A caller with work for the worker first stores it where the worker looks (a
// queue, its inbox, timers, the stop flag) and then calls unpark. The worker first calls tryPark,
// then checks these places, and then waits. So parked also means "about to wait", which other
// schedulers call transitioning to park. Both calls change this word, so one of them is first. If
// unpark is first, tryPark fails, and the worker checks again. If tryPark is first, unpark finds
// parked and wakes the driver. A wake of the driver before the wait ends the wait, too.
type parker struct{ state atomics.Uint32 }

const (
	unparked  = iota // running, and has checked for work
	parked           // waits in its driver, or is about to
	unparking        // work has been stored since the worker last checked
)

// tryPark announces a wait; false: check for work first.
func (p *parker) tryPark() bool { return p.state.CompareAndSwap(unparked, parked) }

// looking clears earlier unparks: the worker is about to check for their work.
func (p *parker) looking() {
	if p.state.Load() != unparked {
		p.state.Store(unparked)
	}
}

// isParked reports that there was no unpark since tryPark.
func (p *parker) isParked() bool { return p.state.Load() == parked }

// unpark reports whether the driver must be woken.
func (p *parker) unpark() bool { return p.state.Swap(unparking) == parked }
