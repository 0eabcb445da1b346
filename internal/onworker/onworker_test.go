package onworker

import (
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixed is a Host with a Place that does not change.
type fixed Place

func (h fixed) Place() Place { return Place(h) }

// asHost calls f on a goroutine that is a host.
func asHost(p Place, f func()) {
	var done sync.WaitGroup
	done.Go(func() {
		Enter(fixed(p))
		defer Leave()
		f()
	})
	done.Wait()
}

// deep calls f under n more frames.
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
	depth++
}

var depth int

func TestWaitOnAHost(t *testing.T) {
	for _, n := range []int{0, 10, 200} {
		asHost(Place{Worker: 3}, func() {
			deep(n, func() {
				require.ErrorIs(t, Wait(), ErrBlocksWorker)
				require.ErrorContains(t, Wait(), "on worker 3: await a future")
			})
		})
		asHost(Place{Stackful: true}, func() {
			deep(n, func() { require.ErrorContains(t, Wait(), "the task's context") })
		})
		asHost(Place{MayBlock: true}, func() {
			deep(n, func() { require.NoError(t, Wait()) })
		})
	}
}

func TestWaitElsewhere(t *testing.T) {
	asHost(Place{}, func() {}) // its function has begun a host
	for _, n := range []int{0, 10, 200} {
		deep(n, func() {
			require.NoError(t, Wait())
		})
		var done sync.WaitGroup
		done.Go(func() { // the function that began it is that of hosts
			deep(n, func() { require.NoError(t, Wait()) })
		})
		done.Wait()
	}
}

// An ordinary coroutine begins with the same function as those that are hosts.
func TestWaitOnCoroutines(t *testing.T) {
	errs := make(map[bool]error)
	for _, isHost := range []bool{true, false, true, false} {
		next, stop := iter.Pull(func(yield func(error) bool) {
			if isHost {
				Enter(fixed{})
				defer Leave()
			}
			yield(Wait())
		})
		errs[isHost], _ = next()
		stop()
	}
	require.ErrorIs(t, errs[true], ErrBlocksWorker)
	require.NoError(t, errs[false])
}

func TestEnd(t *testing.T) {
	own, other := new(int), new(int)
	asHost(Place{Runtime: own, MayBlock: true}, func() {
		require.ErrorIs(t, End(own), ErrBlocksWorker)
		require.NoError(t, End(other))
	})
	require.NoError(t, End(own))
}

func TestAHostThatHasLeftIsNone(t *testing.T) {
	var done sync.WaitGroup
	done.Go(func() {
		Enter(fixed{})
		Leave()
		require.NoError(t, Wait())
		require.NoError(t, End(nil))
	})
	done.Wait()
}

func TestAWaitCostsNoMemory(t *testing.T) {
	asHost(Place{}, func() {})
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if err := Wait(); err != nil {
			t.Error(err)
		}
	}))
}

func TestDisplay(t *testing.T) {
	for function, name := range map[string]string{
		module + "syncx.(*Mutex).Lock":              "syncx.Mutex.Lock",
		module + "sched.(*JoinHandle[...]).Wait":    "sched.JoinHandle.Wait",
		module + "sched.Await[...]":                 "sched.Await",
		module + "server.(*Server).Close":           "server.Server.Close",
		module + "sched.block[...]":                 "",
		module + "sched.(*Runtime).mayWaitForEnd":   "",
		module + "internal/engine.(*Group).Wait":    "",
		module + "chanx.(*Receiver[...]).All.func1": "",
	} {
		require.Equal(t, name, display(function))
	}
}

func BenchmarkWait(b *testing.B) {
	for b.Loop() {
		_ = Wait()
	}
}
