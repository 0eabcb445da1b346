package sched_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/sched"
)

// onWandering runs a test on runtimes whose stackful tasks move with each run.
func onWandering(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	onRoaming(t, func(t *testing.T, start func(sched.Config) *sched.Runtime) {
		for _, workers := range []int{2, 4} {
			testmode.Wander.Store(true)
			rt := start(sched.Config{Workers: workers})
			testmode.Wander.Store(false)
			test(t, rt)
		}
	})
}

// Each wait of a stackful task ends on another worker: a wait for a timer, for the first of
// several futures, for a task, or one that an abort ends.
func TestEachWaitMayEndOnAnotherWorker(t *testing.T) {
	const tasks, waits = 20, 12
	onWandering(t, func(t *testing.T, rt *sched.Runtime) {
		var aborted atomic.Int64 // waits that an abort ended on another worker than they began on
		kinds := []func(cx *sched.Context) error{
			func(cx *sched.Context) error {
				_, err := sched.Await(cx, sched.Sleep(time.Millisecond))
				return err
			},
			func(cx *sched.Context) error { // the first one wins, and the other is abandoned
				g := new(gate)
				rt.AfterFunc(time.Millisecond, func() { g.Open("") })
				v, err := sched.Await(cx, sched.Select[string](new(gate), g))
				if err == nil && v.Index != 1 {
					return errors.New("the wrong one")
				}
				return err
			},
			func(cx *sched.Context) error {
				_, err := sched.Await(cx, sched.Timeout[string](time.Millisecond, new(gate)))
				if !errors.Is(err, sched.ErrTimeout) {
					return errors.New("no time-out")
				}
				return nil
			},
			func(cx *sched.Context) error {
				began := make(chan struct{}, 1)
				child := sched.Go(cx, func(cx *sched.Context) (int, error) {
					began <- struct{}{}
					at := cx.Worker()
					_, err := sched.Await(cx, sched.Sleep(time.Hour))
					if err == nil {
						t.Error("it was not aborted")
					}
					if at != cx.Worker() {
						aborted.Add(1)
					}
					return 0, err
				})
				if _, err := sched.Await(cx, sched.Recv(began)); err != nil {
					return err
				}
				rt.AfterFunc(time.Millisecond, child.Abort)
				_, err := sched.Await[int](cx, child)
				if !errors.Is(err, sched.ErrCanceled) {
					return errors.New("it was not aborted")
				}
				return nil
			},
		}
		var moved atomic.Int64
		var all sync.WaitGroup
		for i := range tasks {
			all.Add(1)
			sched.Go(rt, func(cx *sched.Context) (int, error) {
				defer all.Done()
				for n := range waits {
					kind := (i + n) % len(kinds)
					at := cx.Worker()
					if err := kinds[kind](cx); err != nil {
						t.Errorf("wait %d: %v", kind, err)
					}
					if at != cx.Worker() {
						moved.Add(1)
					}
				}
				return 0, nil
			}).Detach()
		}
		awaitAll(t, &all)
		require.Greater(t, moved.Load(), int64(tasks*waits/2), "with several runs for a wait a task may come back")
		require.Positive(t, aborted.Load())
		require.NoError(t, shut(t, rt))
	})
}
