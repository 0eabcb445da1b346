package sched_test

import (
	"sync"
	"testing"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A fake is a Driver without a kernel. It counts its calls, and a test scripts its events.
type fake struct {
	endless bool // only an event ends a hold, so that a hold cannot hide a lost wake-up
	onPoll  func(cx *sched.Context)

	wake   chan struct{}
	events chan event

	mu      sync.Mutex
	calls   []call // the latest calls
	within  bool   // a call has not returned
	waits   phase  // the kind of wait of that call, until an event or Wake ends it
	due     int    // calls of Wake that no call has taken
	wakes   int
	polls   int
	closes  int
	badCall string
}

// An event is an event of a driver. Poll calls it and returns its result.
type event func(cx *sched.Context) (int, error)

type phase string

const (
	polling  phase = "poll"
	holding  phase = "hold"
	blocking phase = "block"
)

// A call is a call of Poll.
type call struct {
	phase phase
	wait  time.Duration
}

var _ sched.Driver = (*fake)(nil)

func newFake() *fake {
	return &fake{wake: make(chan struct{}, 1), events: make(chan event, 16)}
}

func (d *fake) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	if d.onPoll != nil {
		d.onPoll(cx)
	}
	c := call{phase: blocking, wait: wait}
	switch {
	case hold:
		c.phase = holding
	case wait == 0:
		c.phase = polling
	}
	d.begin(c)
	defer d.end()
	if wait == 0 {
		select {
		case e := <-d.events:
			return e(cx)
		default:
			return 0, nil
		}
	}
	var limit <-chan time.Time
	if wait > 0 && !d.endless {
		t := time.NewTimer(wait)
		defer t.Stop()
		limit = t.C
	}
	select {
	case e := <-d.events:
		d.waited(0)
		return e(cx)
	case <-d.wake:
		d.waited(1)
	case <-limit:
	}
	return 0, nil
}

// waited ends the wait of a call, which may have taken a wake-up.
func (d *fake) waited(wakes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits = ""
	d.due -= wakes
}

func (d *fake) begin(c call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closes > 0 {
		d.badCall = "Poll after Close"
	}
	if d.within {
		d.badCall = "two calls of Poll at once"
	}
	d.polls++
	d.within, d.waits = true, c.phase
	if len(d.calls) == 100 {
		d.calls = append(d.calls[:0], d.calls[50:]...)
	}
	d.calls = append(d.calls, c)
}

func (d *fake) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.within, d.waits = false, ""
}

func (d *fake) Wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakes++
	select {
	case d.wake <- struct{}{}:
		d.due++
	default:
	}
}

func (d *fake) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closes++
	return nil
}

// waitsIn reports that the driver waits in that phase and no event is due.
func (d *fake) waitsIn(p phase) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits == p && d.due == 0 && len(d.events) == 0
}

// lastCall is the latest call of Poll.
func (d *fake) lastCall() call {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.calls) == 0 {
		return call{}
	}
	return d.calls[len(d.calls)-1]
}

func (d *fake) count(what *int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return *what
}

// takeCalls returns the calls since the last takeCalls, at most 100.
func (d *fake) takeCalls() []call {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}

// startFakes starts a runtime with one fake driver per worker.
func startFakes(t testing.TB, cfg sched.Config) (*sched.Runtime, []*fake) {
	t.Helper()
	fakes := make([]*fake, cfg.Workers)
	for i := range fakes {
		fakes[i] = newFake()
	}
	return startOn(t, cfg, fakes), fakes
}

func startOn(t testing.TB, cfg sched.Config, fakes []*fake) *sched.Runtime {
	t.Helper()
	cfg.Workers = len(fakes)
	cfg.NewDriver = func(worker int) (sched.Driver, error) {
		if worker >= len(fakes) { // a spare
			return newFake(), nil
		}
		return fakes[worker], nil
	}
	t.Cleanup(func() {
		for i, d := range fakes {
			if n := d.count(&d.closes); n != 1 {
				t.Errorf("driver %d was closed %d times", i, n)
			}
			if d.badCall != "" {
				t.Errorf("driver %d: %s", i, d.badCall)
			}
		}
	})
	return start(t, cfg)
}
