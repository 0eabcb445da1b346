package sched

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/metrics"
)

// A rescued is a driver with completions that others may take.
type rescued struct {
	sleeper
	events int
}

func (r *rescued) Rescue(*Context) int { return r.events }

// StealByHand lets workers that do not run take from each other's queues. Each step moves its
// figures by a known amount, and no others. It returns the figures before and after all steps.
func StealByHand(t *testing.T) (before, after []metrics.Family) {
	rt := New(Config{Workers: 2})
	before = rt.Metrics()
	a, b := rt.workers[0], rt.workers[1]
	idler := &rescued{sleeper: sleeper{wake: make(chan struct{}, 1)}, events: 5}
	a.driver, b.driver = idler, &sleeper{wake: make(chan struct{}, 1)}

	names := map[string]string{
		"attempts": "suiro.worker.steal_attempts", "steals": "suiro.worker.steals", "stolen": "suiro.worker.stolen_tasks",
		"fetches": "suiro.worker.global_fetches", "overflows": "suiro.worker.queue_overflows",
		"spared": "suiro.worker.spared_wakeups", "claims": "suiro.worker.claims",
		"rescues": "suiro.worker.rescues", "rescued": "suiro.worker.rescued_events", "queued": "suiro.worker.queued_tasks",
	}
	figures := func() map[string]float64 {
		a.publish()
		b.publish()
		now, all := map[string]float64{}, rt.Metrics()
		for short, name := range names {
			if v := figureOf(t, all, name); v != 0 {
				now[short] = v
			}
		}
		return now
	}
	last := figures()
	moves := func(step string, want map[string]float64) {
		t.Helper()
		now, moved := figures(), map[string]float64{}
		for short := range names {
			if d := now[short] - last[short]; d != 0 {
				moved[short] = d
			}
		}
		require.Equal(t, want, moved, step)
		last = now
	}

	capacity := a.queue.room()
	for range capacity + 1 {
		a.enqueue(new(Task))
	}
	kept := capacity / 2
	moves("a full queue gives its newer half away", map[string]float64{"overflows": 1, "queued": float64(kept)})
	require.True(t, b.fetch(8))
	moves("the other worker fetches eight of them", map[string]float64{"fetches": 1, "queued": 8})
	for b.batch.pop() != nil {
	}
	moves("it runs them", map[string]float64{"queued": -8})
	require.True(t, b.takeFrom(&a.queue))
	half := float64(kept / 2)
	moves("it steals half of the first one's queue, of which one task runs next",
		map[string]float64{"attempts": 1, "steals": 1, "stolen": half, "queued": float64(b.queue.len()) - half})
	require.False(t, b.takeFrom(&a.batch))
	moves("it finds nothing", map[string]float64{"attempts": 1})

	for b.queue.pop() != nil {
	}
	for a.queue.len() > 1 {
		a.queue.pop()
	}
	b.first = nil
	figures()
	last = figures()
	rt.global.len.Store(0) // the rest of the first step
	a.adapt.set(a, 100)    // nanoseconds a task
	a.urgent.Store(false)
	rt.idle.park(b.index, false)
	a.shareQueue()
	moves("one cheap task does not wake the other worker", map[string]float64{"spared": 1})
	require.Equal(t, b.index, rt.idle.claim())
	b.leavePark()
	moves("but a task from outside does", map[string]float64{"claims": 1})

	require.True(t, b.rescue(a))
	moves("it takes the last task and five events of the first one",
		map[string]float64{"attempts": 1, "steals": 1, "stolen": 1, "rescues": 1, "rescued": 5, "queued": -1})
	a.lifo.Store(new(Task))
	idler.events = 0
	require.True(t, b.rescue(a))
	moves("a task in the slot of the first one, while another is about to run", map[string]float64{"stolen": 1, "queued": 1})
	return before, rt.Metrics()
}

// A knocked is a driver whose waits end because the worker is unparked.
type knocked struct {
	sleeper
	w *worker
}

func (k *knocked) Poll(*Context, time.Duration, bool) (int, error) {
	k.w.unpark()
	return 0, nil
}

// ParkByHand lets a worker that does not run wait three times.
func ParkByHand(*testing.T) (before, after []metrics.Family) {
	rt := New(Config{Workers: 1})
	w := rt.workers[0]
	w.driver = &knocked{sleeper{wake: make(chan struct{}, 1)}, w}
	before = rt.Metrics()
	for range 3 {
		_, _ = w.park()
		w.parker.looking() // as the next tick does
	}
	w.publish()
	return before, rt.Metrics()
}

// MeasureByHand lets a worker that does not run measure 32 tasks of 2 seconds in all, and 2 ticks
// of 3 ms. It counts polls with 0, 1, 2, 3, 64 and 1000 events.
func MeasureByHand(*testing.T) (before, after []metrics.Family) {
	rt := New(Config{Workers: 1, Paused: true})
	w := rt.workers[0]
	w.publish()
	before = rt.Metrics()
	w.now = rt.Now()
	rt.Advance(2 * time.Second)
	w.adapt.measure(w, 32)
	w.tickTook(3*time.Millisecond, 2)
	for _, n := range []int{0, 1, 2, 3, 64, 1000} {
		w.countPoll(n)
	}
	w.publish()
	return before, rt.Metrics()
}

// SearchByHand lets two of four workers search, and queues three long tasks.
func SearchByHand(t *testing.T) (before, after []metrics.Family) {
	rt := New(Config{Workers: 4})
	before = rt.Metrics()
	require.True(t, rt.idle.startSearch())
	require.True(t, rt.idle.startSearch())
	for range 3 {
		require.True(t, rt.workers[0].setAside(new(Task)))
	}
	return before, rt.Metrics()
}

// The hooks count waits, independently.
func TestFiguresOfWaitsMove(t *testing.T) {
	var parks, unparks atomic.Int64
	rt := New(Config{Workers: 2, Hooks: Hooks{
		WorkerPark:   func(int) { parks.Add(1) },
		WorkerUnpark: func(int) { unparks.Add(1) },
	}})
	for range 20 {
		fired := make(chan struct{})
		rt.AfterFunc(time.Microsecond, func() { close(fired) })
		<-fired
	}
	require.NoError(t, rt.Close())
	all := rt.Metrics()
	require.Positive(t, parks.Load())
	require.EqualValues(t, parks.Load(), figureOf(t, all, "suiro.worker.parks"))
	require.EqualValues(t, unparks.Load(), figureOf(t, all, "suiro.worker.unparks"))
}
