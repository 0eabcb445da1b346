package sched_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// heap is the size of the live objects on the heap.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestTheMemoryOfTasksIsGivenBackWhenItIsNotNeeded(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	live := func(n int) (end func()) {
		gates := make([]gate, n)
		handles := make([]*sched.JoinHandle[int], n)
		for i := range handles {
			handles[i] = sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				_, err := gates[i].Poll(cx)
				return i, err
			}))
		}
		for i := range gates {
			eventually(t, "it waits", func() bool { return gates[i].polls.Load() > 0 })
		}
		return func() {
			for i := range gates {
				gates[i].Open("")
			}
			for i, h := range handles {
				v, err := outcome(t, h)
				require.NoError(t, err)
				require.Equal(t, i, v)
			}
		}
	}
	live(100)()
	before := heap()
	tasks := rounds(200_000)
	live(tasks)()
	left := func() int { return heap() - before }
	eventually(t, "the memory is given back", func() bool { return left() < tasks*20 })
	live(1000)() // in kept cells, and in new ones
	t.Logf("%d bytes are left of %d tasks", left(), tasks)
}

// A task's memory may be freed while tasks in adjacent memory are alive.
func TestMemoryIsGivenBackBesideTasksThatLive(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	const tasks, every = 50_000, 1000
	var living []*probe[int]
	var ends []*sched.JoinHandle[int]
	for i := range tasks {
		if i%every == 0 {
			p := new(probe[int])
			living = append(living, p)
			ends = append(ends, sched.Spawn(rt, sched.Future[int](p)))
		} else {
			ends = append(ends, sched.Spawn(rt, ready(i, nil)))
		}
	}
	check := func(i int) {
		v, err := outcome(t, ends[i])
		require.NoError(t, err)
		require.Equal(t, i, v)
	}
	for i := range tasks {
		if i%every != 0 {
			check(i)
		}
	}
	eventually(t, "slabs are given back", func() bool { return rt.Slabs() <= 3*len(living) })
	for i, p := range living {
		p.polled(t)
		p.finish(i*every, nil)
		check(i * every)
	}
	require.NoError(t, rt.Shutdown(t.Context()))
}
