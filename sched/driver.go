package sched

import "time"

// A Driver is a worker's connection with the outside world. Poll and Close are
// called by the worker's goroutine alone, Wake by any. It may be a Rescuer.
type Driver interface {
	// Poll submits what has been queued since the last call, takes what has
	// completed, wakes the tasks concerned through cx, and returns the number
	// of things that happened: at least 1 if it has woken a task, since a worker that sleeps goes
	// on polling until it is told of something. If there is nothing it waits: not at all for
	// wait 0, without bound for wait < 0. With hold the wait must keep the Go
	// scheduler's processor; it is then Config.Hold at most. Poll returns early, with 0 if
	// need be, after Wake. An error is final: the runtime stops.
	Poll(cx *Context, wait time.Duration, hold bool) (int, error)

	// Wake makes a Poll that waits, or the next one that would, return. It may
	// come after Close, and then does nothing.
	Wake()

	// Close frees what the driver owns, after the last Poll.
	Close() error
}

// A Rescuer is a Driver that others can look after while its worker is stuck in
// a task. Any worker's goroutine may call it, outside its own driver's Poll.
type Rescuer interface {
	// Rescue takes what has completed on the driver, wakes the tasks concerned
	// through cx, which is the caller's context, on another worker, and returns
	// the number of things that happened. It never waits: it returns 0 at once
	// if the owner is in Poll, or somebody else in Rescue.
	Rescue(cx *Context) int
}

// A sleeper is the driver of a runtime that has no I/O: it only waits.
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
	default: // one is on its way
	}
}

func (s *sleeper) Close() error { return nil }
