package sched

import "time"

// A Driver is a worker's connection with the outside world. Only the worker's goroutine calls Poll
// and Close; any goroutine may call Wake. A Driver may also be a Rescuer. It may have a method
// Trim, which frees memory that it keeps for later use. A spare worker's goroutine calls Trim when
// the spare is out of service and about to rest (see Config.Spares).
//
// Driver and Rescuer are unstable: they are made for package conn, and may change in any minor
// version.
type Driver interface {
	// Poll submits the operations queued since the last call, takes completed ones, and wakes
	// their tasks through cx. It returns the number of events: at least 1 if it has woken a task,
	// since a worker that sleeps polls again until there is an event. If there is no event it
	// waits: not at all for wait 0, without bound for wait < 0. With hold, the wait must keep the
	// Go scheduler's processor; it is then Config.Hold at most. After Wake, Poll returns early,
	// with 0 if there is no event. An error is final: the runtime stops.
	Poll(cx *Context, wait time.Duration, hold bool) (int, error)

	// Wake makes a waiting Poll return, or else the next Poll that would wait. It may be called
	// after Close, and then does nothing.
	Wake()

	// Close frees what the driver owns, after the last Poll.
	Close() error
}

// A Rescuer is a Driver whose completions others can take while its worker is stuck in a task. Any
// worker's goroutine may call it, outside its own driver's Poll.
type Rescuer interface {
	// Rescue takes completed operations of the driver, wakes their tasks through cx, and returns
	// the number of events. cx is the caller's context, on another worker. Rescue never waits: it
	// returns 0 at once if the owner is in Poll or another caller is in Rescue.
	Rescue(cx *Context) int
}

// A trimmer is a Driver that keeps memory for later use.
type trimmer interface{ Trim() }

// A sleeper is the driver of a runtime without I/O: it only waits.
type sleeper struct{ wake chan struct{} }

func newSleeper() *sleeper { return &sleeper{wake: make(chan struct{}, 1)} }

func (s *sleeper) Poll(_ *Context, wait time.Duration, _ bool) (int, error) {
	switch {
	case wait == 0:
	case wait < 0:
		<-s.wake
	default:
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-s.wake:
		case <-t.C:
		}
	}
	return 0, nil
}

func (s *sleeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

func (s *sleeper) Close() error { return nil }
