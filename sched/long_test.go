package sched

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
)

type bodyFunc func(cx *Context) bool

func (f bodyFunc) Run(cx *Context) bool { return f(cx) }

// within fails if the tasks do not end in time.
func within(t *testing.T, wg *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience.Limit):
		t.Fatal("tasks still run")
	}
}

// Long tasks are set aside for any idle worker. None may be left when all workers park and only a
// wake-up ends a wait.
func TestLongTasksThatAreSetAsideAllRun(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			rt := New(Config{Workers: workers}.Endless())
			require.NoError(t, rt.Start())
			defer func() { require.NoError(t, rt.Close()) }()
			rounds := 500
			if Slow || testing.Short() {
				rounds = 50
			}
			for i := range rounds {
				var ran sync.WaitGroup
				for k := range 1 + i%7 {
					ran.Add(1)
					task := new(Task)
					task.Init(rt, bodyFunc(func(*Context) bool { ran.Done(); return true }))
					task.long = k%3 != 1
					if k == 5 {
						task.Pin(i)
					}
					if i%2 == 0 {
						task.Wake()
					} else {
						task.WakeOn(i)
					}
				}
				within(t, &ran)
			}
		})
	}
}

func TestALongTaskWhoseRunsAreShortAgainIsNotLong(t *testing.T) {
	rt := New(Config{Workers: 1}.Endless())
	require.NoError(t, rt.Start())
	var ran sync.WaitGroup
	ran.Add(1)
	task := new(Task)
	task.Init(rt, bodyFunc(func(*Context) bool {
		if task.long { // on a busy machine a run may take longer: then check the next run
			task.Wake()
			return false
		}
		ran.Done()
		return true
	}))
	task.long = true
	task.Wake()
	within(t, &ran)
	require.NoError(t, rt.Close())
}

// A task that was long runs after the tasks behind it in the queue that were not. This holds for
// pinned tasks, for others, and for a mix of both.
func TestALongTaskRunsAfterTheOthers(t *testing.T) {
	for name, pinned := range map[string]func(i int) bool{
		"free":   func(int) bool { return false },
		"pinned": func(int) bool { return true },
		"mixed":  func(i int) bool { return i%2 == 0 },
	} {
		rt := New(Config{Workers: 1}.Endless())
		rt.worker(0).long.pause = time.Minute // so that no long task may run early on a slow machine
		var order []string                    // only the worker uses it
		var ran sync.WaitGroup
		names := []string{"long", "long", "a", "b", "c", "d"}
		ran.Add(len(names))
		for i, name := range names {
			task := new(Task)
			task.Init(rt, bodyFunc(func(*Context) bool { order = append(order, name); ran.Done(); return true }))
			task.long = i < 2
			if pinned(i) {
				task.Pin(0)
			}
			task.WakeOn(0) // before the start, so that they are queued in this order
		}
		require.NoError(t, rt.Start())
		within(t, &ran)
		require.NoError(t, rt.Close())
		require.Equal(t, []string{"long", "long"}, order[4:], name)
	}
}

// Pinned long tasks and shared ones alternate, also when there are more of one kind.
func TestPinnedLongTasksTakeTurnsWithOthers(t *testing.T) {
	rt := New(Config{Workers: 1}.Endless())
	var order []string // only the worker uses it
	var ran sync.WaitGroup
	const n = 6
	ran.Add(2 * n)
	for i := range 2 * n {
		name := "free"
		task := new(Task)
		if i < n {
			name = "pinned"
		}
		task.Init(rt, bodyFunc(func(*Context) bool { order = append(order, name); ran.Done(); return true }))
		task.long = true
		if i < n {
			task.Pin(0)
		}
		task.WakeOn(0)
	}
	require.NoError(t, rt.Start())
	within(t, &ran)
	require.NoError(t, rt.Close())
	for i := 1; i < len(order); i++ {
		require.NotEqual(t, order[i-1], order[i], order)
	}
}
