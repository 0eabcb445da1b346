package blocking_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// whereabouts reports whether the call was made in a bubble.
func whereabouts() (bool, error) { return bubble.In(), nil }

// A pool that was made outside bubbles is used in several, and outside in between. Its goroutines
// become idle each time, and the next user gets them again.
func TestAPoolOfOutsideIsUsedInBubblesAndOutside(t *testing.T) {
	for _, keep := range []time.Duration{time.Hour, time.Nanosecond, -1} {
		p := newPool(t, blocking.Config{MaxThreads: 2, KeepAlive: keep})
		use := func(t *testing.T) {
			for range 20 {
				first, second := blocking.Submit(p, whereabouts), blocking.Submit(p, whereabouts)
				for _, h := range []*blocking.Handle[bool]{second, first} {
					inside, err := h.Wait(context.Background())
					require.NoError(t, err)
					require.False(t, inside)
				}
				inside, err := blocking.Do(context.Background(), p, whereabouts)
				require.NoError(t, err)
				require.False(t, inside)
			}
		}
		for range 3 {
			synctest.Test(t, use)
			use(t)
		}
	}
}

// Bubbles and goroutines outside use the pool concurrently: more calls than it has goroutines.
func TestAPoolOfOutsideIsUsedByAllAtOnce(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 3})
	use := func(t *testing.T) {
		done := make(chan int, 8)
		for i := range 8 {
			go func() {
				for range 20 {
					_, err := blocking.Do(context.Background(), p, whereabouts)
					require.NoError(t, err)
				}
				done <- i
			}()
		}
		for range 8 {
			<-done
		}
	}
	t.Run("group", func(t *testing.T) {
		for range 3 {
			t.Run("inside", func(t *testing.T) { t.Parallel(); synctest.Test(t, use) })
			t.Run("outside", func(t *testing.T) { t.Parallel(); use(t) })
		}
	})
}

// Tasks of a runtime of the bubble wait for calls that are made outside.
func TestTasksInABubbleAwaitAPoolOfOutside(t *testing.T) {
	for _, paused := range []bool{false, true} {
		p := newPool(t, blocking.Config{})
		synctest.Test(t, func(t *testing.T) {
			rt := sched.New(sched.Config{Workers: 2, Paused: paused})
			for range 20 {
				v, err := sched.Block(t.Context(), rt, sched.Go(rt, func(cx *sched.Context) (time.Duration, error) {
					began := cx.Now()
					_, err := blocking.Do(cx, p, func() (int, error) { time.Sleep(time.Millisecond); return 1, nil })
					return cx.Now() - began, err
				}))
				require.NoError(t, err)
				require.Zero(t, v, "the bubble's time and the virtual clock stand still")
			}
			require.NoError(t, rt.Shutdown(t.Context()))
		})
	}
}

// The clock of a bubble's runtime stands still until the call has ended, also when nobody waits
// for the call any more.
func TestAnAbandonedCallHoldsTheClockOfABubble(t *testing.T) {
	p := newPool(t, blocking.Config{})
	g := newGate(t, 1)
	synctest.Test(t, func(t *testing.T) {
		rt := sched.New(sched.Config{Workers: 1, Paused: true})
		h := sched.Go(rt, func(cx *sched.Context) (int, error) { return blocking.Do(cx, p, g.pass) })
		<-g.entered
		h.Abort()
		_, err := sched.Block(t.Context(), rt, h)
		require.ErrorIs(t, err, sched.ErrCanceled)
		slept := sched.Go(rt, func(cx *sched.Context) (int, error) {
			_, err := sched.Await(cx, sched.Sleep(time.Hour))
			return 2, err
		})
		for range 100 {
			_, err := sched.Block(t.Context(), rt, sched.Go(rt, func(*sched.Context) (int, error) { return 3, nil }))
			require.NoError(t, err)
			require.Zero(t, rt.Now())
		}
		g.release()
		v, err := sched.Block(t.Context(), rt, slept)
		require.NoError(t, err)
		require.Equal(t, 2, v)
		require.NoError(t, rt.Close())
	})
}

func TestAWaitInABubbleEndsWithItsContext(t *testing.T) {
	p := newPool(t, blocking.Config{})
	g := newGate(t, 1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := blocking.Submit(p, g.pass)
		<-g.entered
		go cancel()
		_, err := h.Wait(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, h.Abort(), "it has begun")
		_, err = h.Wait(t.Context())
		require.ErrorIs(t, err, sched.ErrCanceled)
	}) // ends although the call has not
	g.release()
}

// A bubble's time stands still while a goroutine waits for a call outside. The deadline of the
// wait still passes.
func TestAWaitInABubbleEndsAtItsDeadline(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *blocking.Pool, func() (int, error)) error{
		"Wait": func(ctx context.Context, p *blocking.Pool, fn func() (int, error)) error {
			h := blocking.Submit(p, fn)
			_, err := h.Wait(ctx)
			h.Abort() // otherwise the bubble ends during the call
			return err
		},
		"Do in a goroutine": func(ctx context.Context, p *blocking.Pool, fn func() (int, error)) error {
			_, err := blocking.Do(ctx, p, fn)
			return err
		},
		"Shutdown": func(ctx context.Context, p *blocking.Pool, fn func() (int, error)) error {
			blocking.Submit(p, fn)
			return p.Shutdown(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, blocking.Config{})
			release := make(chan struct{})
			call := func() (int, error) { <-release; return 1, nil }
			giveUp := time.AfterFunc(patience, func() { close(release) })
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				require.ErrorIs(t, wait(ctx, p, call), context.DeadlineExceeded)
			})
			require.True(t, giveUp.Stop())
			close(release)
		})
	}
}

// Shutdown in a bubble waits for calls that end outside, and so does a concurrent one outside.
func TestShutdownInABubbleOfAPoolOfOutside(t *testing.T) {
	for _, idle := range []bool{false, true} {
		p := newPool(t, blocking.Config{})
		g := newGate(t, 1)
		h := blocking.Submit(p, g.pass)
		receive(t, "the call", g.entered)
		if idle {
			g.release()
			_, err := result(t, h)
			require.NoError(t, err)
		}
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() { ended <- p.Shutdown(t.Context()) }()
			g.release()
			require.NoError(t, <-ended)
			require.NoError(t, p.Shutdown(t.Context()))
		})
	}
}
