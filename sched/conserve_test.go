package sched_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A population is a set of tasks that spawn others until there are enough, and that are pending a
// few times each. A pending task has arranged for one wake-up, in one of several ways. So each
// task must run exactly as often as it was woken.
type population struct {
	rt      *sched.Runtime
	enough  int64
	spawned atomic.Int64
	wakes   atomic.Int64 // wake-ups that were arranged, including spawns
	polls   atomic.Int64
	ended   atomic.Int64
	wrong   atomic.Int64 // runs without a wake

	slots   [8]atomic.Pointer[person] // tasks that wait until another task sweeps
	outside chan *person              // tasks that a goroutine wakes
}

type person struct {
	all   *population
	rng   rand.PCG
	due   atomic.Int64 // wake-ups that no run has followed yet: at most 1
	waker sched.Waker
	left  int // how often it will still be pending
	child int
}

func (p *population) person(rng *rand.PCG) *person {
	if p.spawned.Add(1) > p.enough {
		p.spawned.Add(-1)
		return nil
	}
	q := &person{all: p, rng: *rand.NewPCG(rng.Uint64(), 1)}
	q.left, q.child = int(q.rng.Uint64()%4), int(q.rng.Uint64()%3)
	q.wakeDue()
	return q
}

func (q *person) wakeDue() {
	q.all.wakes.Add(1)
	q.due.Add(1)
}

// wake wakes the task from any place; cx may be nil.
func (q *person) wake(cx *sched.Context) {
	w := q.waker // copied: the task may go on as soon as due is set
	if cx != nil {
		cx.Wake(w)
	} else {
		w.Wake()
	}
}

// Poll is the run of a stackless task.
func (q *person) Poll(cx *sched.Context) (int, error) {
	q.begin()
	q.spawn(cx)
	if q.left == 0 {
		q.all.ended.Add(1)
		return 0, nil
	}
	q.left--
	q.arrange(cx)
	return 0, sched.ErrPending
}

// call is the run of a stackful task.
func (q *person) call(cx *sched.Context) (int, error) {
	for range q.left {
		q.begin()
		q.spawn(cx)
		pending := true
		if _, err := sched.Await(cx, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if !pending {
				return 0, nil
			}
			pending = false
			q.arrange(cx)
			return 0, sched.ErrPending
		})); err != nil {
			return 0, err
		}
	}
	q.begin()
	q.spawn(cx)
	q.all.ended.Add(1)
	return 0, nil
}

func (q *person) begin() {
	q.all.polls.Add(1)
	if q.due.Add(-1) != 0 {
		q.all.wrong.Add(1)
	}
}

func (q *person) spawn(cx *sched.Context) {
	for range q.child {
		child := q.all.person(&q.rng)
		switch {
		case child == nil:
		case q.rng.Uint64()%8 == 0:
			sched.Go(cx, child.call).Detach()
		default:
			sched.Spawn(cx, sched.Future[int](child)).Detach()
		}
	}
}

// arrange arranges for one wake-up of the task.
func (q *person) arrange(cx *sched.Context) {
	q.waker = cx.Waker()
	q.wakeDue()
	switch q.rng.Uint64() % 6 {
	case 0:
		q.wake(cx)
	case 1:
		q.wake(nil)
	case 2:
		_, _ = sched.Yield().Poll(cx)
	case 3:
		select {
		case q.all.outside <- q:
		default:
			q.wake(nil)
		}
	default:
		slot := &q.all.slots[q.rng.Uint64()%uint64(len(q.all.slots))]
		if other := slot.Swap(q); other != nil {
			other.wake(cx)
		}
	}
}

// sweep wakes the tasks that wait in slots.
func (p *population) sweep() {
	for i := range p.slots {
		if q := p.slots[i].Swap(nil); q != nil {
			q.wake(nil)
		}
	}
}

func (p *population) run(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var wakers sync.WaitGroup
	for range 2 {
		wakers.Go(func() {
			for {
				select {
				case q := <-p.outside:
					q.wake(nil)
				case <-stop:
					return
				}
			}
		})
	}
	rng := rand.NewPCG(uint64(p.enough), 5)
	eventually(t, "every task ends", func() bool {
		for range 100 { // a population may end before there are enough
			if q := p.person(rng); q != nil {
				sched.Spawn(p.rt, sched.Future[int](q)).Detach()
			}
		}
		p.sweep()
		return p.ended.Load() == p.enough
	})
	close(stop)
	wakers.Wait()
	require.Zero(t, p.wrong.Load(), "runs without a wake")
	require.Equal(t, p.wakes.Load(), p.polls.Load())
}

// Only a wake-up ends a wait.
func TestEachTaskRunsAsOftenAsItIsWoken(t *testing.T) {
	most := 2 * runtime.GOMAXPROCS(0)
	for workers := 1; workers <= most; workers++ {
		for name, cfg := range map[string]sched.Config{
			"sleeper":       {Workers: workers},
			"small queues":  sched.Config{Workers: workers}.QueueSize(4),
			"hold":          {Workers: workers, NewDriver: endlessFake},
			"block at once": {Workers: workers, Hold: -1, NewDriver: endlessFake},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				n := rounds(100_000)
				if name == "sleeper" && workers == most {
					n = rounds(1_000_000)
				}
				p := &population{rt: start(t, cfg.Endless()), enough: int64(n), outside: make(chan *person, 64)}
				p.run(t)
				if name == "small queues" {
					eventually(t, "queues have overflowed", func() bool { return p.rt.Stats().Total.Overflows > 0 })
				}
			})
		}
	}
}

// If the last wake-up of a burst is lost, no later one makes up for it.
func TestASmallBurstOnAnIdlePoolLeavesNothingLying(t *testing.T) {
	onEndless(t, func(t *testing.T, rt *sched.Runtime) {
		for i := range rounds(80) {
			p := &population{rt: rt, enough: int64(1 + i%40), outside: make(chan *person, 64)}
			p.run(t)
		}
	})
}

func endlessFake(int) (sched.Driver, error) {
	d := newFake()
	d.endless = true
	return d, nil
}
