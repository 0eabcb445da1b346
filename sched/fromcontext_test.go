package sched_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A kept is the state of a type that waits with the context of a function.
type kept struct {
	cx *sched.Context
	w  sched.Waker
}

func (k kept) serves() bool { return sched.FromContext(k.cx) == k.cx }

func TestFromContextFindsTheRunningFunction(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	waiting, over := make(chan kept, 1), make(chan kept, 1)
	h := sched.Go(rt, func(cx *sched.Context) (bool, error) {
		k := kept{cx, cx.Waker()}
		ok := cx.Stackful() && k.serves()
		polled := false
		_, err := sched.Await(cx, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			if !polled {
				polled = true
				waiting <- k
				return struct{}{}, sched.ErrPending
			}
			return struct{}{}, nil
		}))
		ok = ok && k.serves()
		over <- k
		return ok, err
	})
	k := <-waiting
	ran := sched.Go(rt, func(*sched.Context) (bool, error) { return k.serves(), nil })
	served, err := ran.Wait(t.Context())
	require.NoError(t, err)
	require.False(t, served, "the function waits")
	k.w.Wake()
	ok, err := h.Wait(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	k = <-over
	require.False(t, k.serves(), "the function has returned")
}

// Of the functions of one task only the running one is served, and none while the task waits.
func TestFromContextFindsNoOtherFunctionOfTheTask(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	require.NoError(t, rt.Start())
	var all [2]kept
	turn := make(chan struct{}, 1)
	var got [2][2]bool
	fn := func(i int) func(cx *sched.Context) error {
		return func(cx *sched.Context) error {
			all[i] = kept{cx, cx.Waker()}
			polled := false
			_, err := sched.Await(cx, sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) {
				if !polled {
					polled = true
					if i == 1 {
						turn <- struct{}{}
					}
					return struct{}{}, sched.ErrPending
				}
				return struct{}{}, nil
			}))
			got[i] = [2]bool{all[0].serves(), all[1].serves()}
			return err
		}
	}
	h := newHost(rt, fn(0), fn(1))
	h.task.Wake()
	<-turn
	h.task.Wake()
	for _, err := range <-h.ended {
		require.NoError(t, err)
	}
	require.Equal(t, [2][2]bool{{true, false}, {false, true}}, got)
}
