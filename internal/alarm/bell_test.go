package alarm_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A door has a bell, as its users have one: under a lock.
type door struct {
	mu     sync.Mutex
	bell   alarm.Bell[door]
	passed chan time.Time // when the deadline was seen to have passed
	begun  atomic.Int32   // calls of rang
	calls  int            // those that have had the lock
}

func newDoor() *door { return &door{passed: make(chan time.Time, 100)} }

func (d *door) rang() {
	d.begun.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.bell.Ring() {
		d.passed <- time.Now()
	}
}

func (d *door) set(at time.Time) (passed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bell.Set(at, d, (*door).rang)
}

// ahead sets a deadline that is so far ahead, and returns it. A machine that stands still may
// let one pass before it is set: then ahead sets a later one.
func (d *door) ahead(after time.Duration) time.Time {
	for {
		if at := time.Now().Add(after); !d.set(at) {
			return at
		}
	}
}

func (d *door) hasPassed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bell.Passed()
}

func TestABellRingsAtItsDeadline(t *testing.T) {
	const soon = 20 * time.Millisecond
	for _, c := range []struct {
		name   string
		before []time.Duration // deadlines that are replaced
	}{
		{"the first", nil},
		{"earlier than before", []time.Duration{time.Hour}},
		{"later than before", []time.Duration{time.Millisecond}},
		{"moved many times", []time.Duration{time.Hour, time.Millisecond, time.Minute, soon / 2}},
		{"after one that had passed", []time.Duration{-time.Second}},
		{"after one in the distant past", []time.Duration{-time.Since(time.Time{}.Add(time.Hour))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor()
			for _, after := range c.before {
				if after > 0 {
					d.ahead(after)
				} else {
					require.True(t, d.set(time.Now().Add(after)))
				}
			}
			at := d.ahead(soon)
			got := conntest.Receive(t, d.passed)
			for got.Before(at) && len(c.before) > 0 { // one that was replaced had passed before that
				got = conntest.Receive(t, d.passed)
			}
			require.False(t, got.Before(at))
			require.True(t, d.hasPassed())
		})
	}
}

func TestABellIsTakenBack(t *testing.T) {
	for name, takeBack := range map[string]func(d *door){
		"with a zero time": func(d *door) { require.False(t, d.set(time.Time{})) },
		"with Stop": func(d *door) {
			d.mu.Lock()
			d.bell.Stop()
			d.mu.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor()
			d.mu.Lock() // the timer fires, and its function waits for the lock
			for passed := true; passed; passed = d.bell.Set(time.Now().Add(time.Millisecond), d, (*door).rang) {
			}
			conntest.Eventually(t, func() bool { return d.begun.Load() == 1 })
			d.mu.Unlock()
			takeBack(d)
			for len(d.passed) > 0 { // its function was quicker than takeBack
				<-d.passed
			}
			require.False(t, d.hasPassed())
			require.True(t, d.set(time.Now().Add(-time.Second)))
			require.True(t, d.hasPassed())
			d.ahead(time.Millisecond)
			conntest.Receive(t, d.passed)
		})
	}
}

// A deadline of an hour costs its timer's function no call when it moves, and no memory.
func TestABellThatMovesCostsNothing(t *testing.T) {
	d := newDoor()
	far := time.Now().Add(time.Hour)
	require.False(t, d.set(far))
	step := time.Second
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		d.set(far.Add(step))
		step = -step
	}))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		d.set(time.Time{})
		d.set(far)
	}))
	require.Zero(t, d.calls)
	d.bell.Stop()
}
