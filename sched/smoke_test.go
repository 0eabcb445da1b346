package sched_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestSmoke(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		n := 0
		for range 10 {
			_, err := sched.Await(cx, sched.Yield())
			if err != nil {
				return n, err
			}
			n++
		}
		in := sched.Go(cx, func(cx *sched.Context) (int, error) { panic("x") })
		_, err := sched.Await(cx, sched.Future[int](in))
		if err == nil {
			return 0, nil
		}
		in2 := sched.Go(cx, func(cx *sched.Context) (int, error) { runtime.Goexit(); return 1, nil })
		if _, err := sched.Await(cx, sched.Future[int](in2)); err != sched.ErrGoexit {
			return 0, err
		}
		return n, nil
	})
	v, err := h.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, 10, v)
	ended := false
	h = sched.Go(rt, func(cx *sched.Context) (int, error) {
		defer func() { ended = true }()
		_, err := sched.Await(cx, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { return 0, sched.ErrPending }))
		return 1, err
	})
	h.Abort()
	_, err = h.Wait(context.Background())
	require.ErrorIs(t, err, context.Canceled)
	_ = ended
	h = sched.Go(rt, func(cx *sched.Context) (int, error) {
		defer func() { ended = true }()
		for {
			_, _ = sched.Await(cx, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { return 0, sched.ErrPending }))
		}
	})
	s := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { runtime.Goexit(); return 0, nil }))
	_, err = s.Wait(context.Background())
	require.ErrorIs(t, err, sched.ErrGoexit)
	require.NoError(t, rt.Close())
	_, err = h.Wait(context.Background())
	require.Error(t, err)
	require.True(t, ended)
}
