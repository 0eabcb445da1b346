package sched

import "github.com/suiro-go/suiro/internal/atomics"

// A parker says whether a worker waits in its driver, so that waking one that
// runs costs no system call.
//
// No wake-up is lost. Whoever has something for the worker first puts it where
// the worker looks (a queue, its inbox, timers, the stop flag) and then calls
// unpark. The worker first calls tryPark and only then looks and waits: parked
// stands for "about to wait" too, which other schedulers call transitioning to
// park. Both go through this word, so one comes first. The unpark: tryPark
// fails, and the worker goes around and looks. The tryPark: unpark finds parked
// and wakes the driver, whose promise is that a wake which comes before the
// wait ends the wait too.
type parker struct{ state atomics.Uint32 }

const (
	unparked  = iota // running, and has looked
	parked           // waits in its driver, or is about to
	unparking        // something has been put down since it looked
)

// tryPark announces a wait; false: look around first.
func (p *parker) tryPark() bool { return p.state.CompareAndSwap(unparked, parked) }

// looking forgets earlier unparks: what they announced is about to be looked at.
func (p *parker) looking() {
	if p.state.Load() != unparked {
		p.state.Store(unparked)
	}
}

// isParked reports that nothing has been put down since tryPark.
func (p *parker) isParked() bool { return p.state.Load() == parked }

// unpark reports whether the driver must be woken.
func (p *parker) unpark() bool { return p.state.Swap(unparking) == parked }
