package sched_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// onUnwatched runs a test on runtimes whose workers do not look for stuck workers.
func onUnwatched(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{2, 4} {
		t.Run(fmt.Sprintf("sleeper/%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers}.Endless()))
		})
		t.Run(fmt.Sprintf("driver/%d", workers), func(t *testing.T) {
			rt, _ := startFakes(t, sched.Config{Workers: workers}.Endless())
			test(t, rt)
		})
	}
}

// The calls wait for tasks that were spawned before, and would otherwise be queued behind them.
func TestWhatWaitsBehindATaskThatBlocksInPlaceIsRunByOthers(t *testing.T) {
	onUnwatched(t, func(t *testing.T, rt *sched.Runtime) {
		for i := range rt.Workers() {
			pass(t, rt, i)
			called := make(chan struct{})
			newTask(rt, i, func(cx *sched.Context) bool {
				const children = 10
				ran := make(chan struct{}, children)
				for range children {
					sched.Spawn(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran <- struct{}{}; return 0, nil })).Detach()
				}
				cx.BlockInPlace(func() {
					for range children {
						<-ran
					}
				})
				close(called)
				return true
			}).Wake()
			receive(t, "a call that blocks returns", called)
		}
	})
}

// One of the workers wakes up for timers. Timers fire whichever worker blocks.
func TestTimersFireWhileATaskBlocksInPlace(t *testing.T) {
	onUnwatched(t, func(t *testing.T, rt *sched.Runtime) {
		for i := range 2 * rt.Workers() {
			pass(t, rt, i)
			called := make(chan struct{})
			newTask(rt, i, func(cx *sched.Context) bool {
				cx.BlockInPlace(func() {
					fired := make(chan struct{})
					rt.AfterFunc(5*time.Millisecond, func() { close(fired) })
					<-fired
				})
				close(called)
				return true
			}).Wake()
			receive(t, "a timer fires", called)
		}
	})
}

func TestATaskGoesOnAfterItHasBlockedInPlace(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			for i := range 20 {
				calls := 0
				cx.BlockInPlace(func() { calls++ })
				must(calls == 1, "%d calls", calls)
				child := sched.Spawn(cx, ready(i, nil))
				cx.BlockInPlace(func() {})
				must(await(cx, child) == i, "a task that was handed over")
			}
		})
		calls := 0
		_, err := sched.Block(context.Background(), rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			cx.BlockInPlace(func() { calls++ })
			return 0, nil
		}))
		require.NoError(t, err)
		require.Equal(t, 1, calls)
	})
}

// A task blocks. The task that it has spawned runs on another worker.
func ExampleContext_BlockInPlace() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		answer := make(chan string, 1)
		sched.Spawn(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { answer <- "from another worker"; return 0, nil })).Detach()
		var v string
		cx.BlockInPlace(func() { v = <-answer })
		return v, nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: from another worker <nil>
}
