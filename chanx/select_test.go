//go:build !explore

package chanx_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// A loop that selects between channels and a timer gets every value of each, in order: the losers
// of a Select have taken nothing.
func TestTheLosersOfASelectHaveTakenNothing(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, workers)
		n := rounds(5000)
		atx, arx := chanx.NewBounded[int](2)
		btx, brx := chanx.NewUnbounded[int]()
		ctx, crx := chanx.NewBroadcast[int](8192)
		one, onerx := chanx.NewOneshot[int]()
		fill := sched.Go(rt, func(cx *sched.Context) (int, error) {
			for i := range n {
				if err := atx.Send(cx, i); err != nil {
					return 0, err
				}
				if err := btx.Send(cx, i); err != nil {
					return 0, err
				}
				if _, err := ctx.Send(cx, i); err != nil {
					return 0, err
				}
			}
			return 0, one.Send(cx, n)
		})
		h := sched.Go(rt, func(cx *sched.Context) ([4]int, error) {
			var next [4]int
			for next[0] < n || next[1] < n || next[2] < n || next[3] == 0 {
				sel, err := sched.Await(cx, sched.Select(
					arx.RecvFuture(),
					brx.RecvFuture(),
					crx.RecvFuture(),
					onerx.RecvFuture(),
					never(sched.Sleep(time.Hour)),
				))
				if err != nil {
					return next, err
				}
				if sel.Err == chanx.ErrClosed && sel.Index == 3 {
					continue // the value was received, so the future is always ready
				}
				if sel.Err != nil {
					return next, sel.Err
				}
				if want := next[sel.Index]; sel.Index < 3 && sel.Value != want {
					t.Errorf("channel %d: %d, not %d", sel.Index, sel.Value, want)
				}
				next[sel.Index]++
			}
			return next, nil
		})
		_, err := h.Wait(t.Context())
		require.NoError(t, err)
		_, err = fill.Wait(t.Context())
		require.NoError(t, err)
		require.Zero(t, arx.Waiting())
		require.Zero(t, btx.Waiting())
		require.Zero(t, ctx.Waiting())
	}
}

// never is a sleep without a useful result.
func never(s sched.Future[struct{}]) sched.Future[int] {
	return &sleeping{s}
}

type sleeping struct{ s sched.Future[struct{}] }

func (s *sleeping) Poll(cx *sched.Context) (int, error) {
	_, err := s.s.Poll(cx)
	return -1, err
}

func (s *sleeping) Cancel() { s.s.(sched.Canceler).Cancel() }

// A loop selects a future that is always done. The task still uses up its budget, so the other
// futures get their turn.
func TestWhatIsReadyForEverLeavesTheOthersTheirTurn(t *testing.T) {
	for name, over := range map[string]func() sched.Future[int]{
		"oneshot": func() sched.Future[int] {
			tx, rx := chanx.NewOneshot[int]()
			tx.Close()
			return rx.RecvFuture()
		},
		"bounded": func() sched.Future[int] {
			_, rx := chanx.NewBounded[int](1)
			rx.Close()
			return rx.RecvFuture()
		},
		"unbounded": func() sched.Future[int] {
			_, rx := chanx.NewUnbounded[int]()
			rx.Close()
			return rx.RecvFuture()
		},
		"broadcast": func() sched.Future[int] {
			_, rx := chanx.NewBroadcast[int](1)
			rx.Close()
			return rx.RecvFuture()
		},
		"watch": func() sched.Future[int] {
			tx, rx := chanx.NewWatch(1)
			tx.Close()
			return rx.RecvFuture()
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, 1)
			tx, rx := chanx.NewBounded[int](1)
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				f, next := over(), rx.RecvFuture()
				for {
					sel, err := sched.Await(cx, sched.Select(f, next))
					if err != nil || sel.Index == 1 {
						return sel.Value, err
					}
				}
			})
			sched.Go(rt, func(cx *sched.Context) (int, error) { return 0, tx.Send(cx, 7) }).Detach()
			v, err := h.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, 7, v)
		})
	}
}
