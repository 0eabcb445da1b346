package sched

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	case <-time.After(30 * time.Second):
		t.Fatal("not within 30 s: tasks run")
	}
}

// Long tasks are set aside for any worker that has nothing else to do: none may
// be left lying when all park, where only a wake-up ends a wait.
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
	task.Init(rt, bodyFunc(func(*Context) bool { ran.Done(); return true }))
	task.long = true
	task.Wake()
	within(t, &ran)
	require.NoError(t, rt.Close())
	require.False(t, task.long)
}

// Behind a task that was long before, in the same queue, stand others that are
// not: they run first.
func TestALongTaskRunsAfterTheOthers(t *testing.T) {
	rt := New(Config{Workers: 1}.Endless())
	var order []string // the worker alone
	var ran sync.WaitGroup
	ran.Add(4)
	for i, name := range []string{"long", "a", "b", "c"} {
		task := new(Task)
		task.Init(rt, bodyFunc(func(*Context) bool { order = append(order, name); ran.Done(); return true }))
		task.long = i == 0
		task.WakeOn(0) // before the start, so that they are queued in this order
	}
	require.NoError(t, rt.Start())
	within(t, &ran)
	require.NoError(t, rt.Close())
	require.Equal(t, []string{"a", "b", "c", "long"}, order)
}
