package blocking_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

// A goroutine that turns idle at the very moment at which a call comes
// takes it: the keep-alive is so short that it also ends then.
func TestEveryCallIsMadeThoughTheOnlyThreadIsJustTurningIdle(t *testing.T) {
	for _, keep := range []time.Duration{0, time.Nanosecond, 5 * time.Microsecond, -1} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			p := newPool(t, blocking.Config{MaxThreads: 1, KeepAlive: keep})
			rng := rand.New(rand.NewPCG(1, uint64(keep)))
			for round := range 512 {
				v, err := result(t, blocking.Submit(p, func() (int, error) { return round, nil }))
				require.NoError(t, err)
				require.Equal(t, round, v)
				for began, pause := time.Now(), time.Duration(rng.IntN(120))*time.Microsecond; time.Since(began) < pause; {
				}
			}
			require.LessOrEqual(t, p.ThreadCount(), 1)
		})
	}
}

func TestOf600CallsWithACapOf512There88Queue(t *testing.T) {
	p := newPool(t, blocking.Config{})
	g := newGate(t, 600)
	var handles []*blocking.Handle[int]
	for range 600 {
		handles = append(handles, blocking.Submit(p, g.pass))
	}
	for range 512 {
		receive(t, "a call starts", g.entered)
	}
	require.Equal(t, 512, p.ThreadCount())
	require.Zero(t, p.IdleCount())
	require.Equal(t, 88, p.Pending())
	require.Empty(t, g.entered)
	g.release()
	for _, h := range handles {
		_, err := result(t, h)
		require.NoError(t, err)
	}
	require.Equal(t, 512, p.ThreadCount(), "they are kept")
	eventually(t, "all are idle", func() bool { return p.IdleCount() == 512 })
}

func TestIdleThreadsLeaveAfterTheKeepAliveAndThoseInUseStay(t *testing.T) {
	for _, keep := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := blocking.New(blocking.Config{KeepAlive: keep})
			want := keep
			if keep == 0 {
				want = 10 * time.Second
			}
			burst := func(n int) {
				var handles []*blocking.Handle[int]
				open := make(chan struct{})
				for range n {
					handles = append(handles, blocking.Submit(p, func() (int, error) { <-open; return 1, nil }))
				}
				synctest.Wait()
				close(open)
				synctest.Wait()
				for _, h := range handles {
					require.True(t, h.Done())
				}
			}
			burst(20)
			require.Equal(t, 20, p.ThreadCount())
			require.Equal(t, 20, p.IdleCount())
			for range 5 { // three are in use now and then
				time.Sleep(want / 2)
				burst(3)
			}
			require.Equal(t, 3, p.ThreadCount())
			time.Sleep(want - 1)
			require.Equal(t, 3, p.ThreadCount())
			time.Sleep(want/4 + 1)
			synctest.Wait()
			require.Zero(t, p.ThreadCount())
			burst(2)
			require.Equal(t, 2, p.ThreadCount())
			require.NoError(t, p.Shutdown(t.Context()))
		})
	}
}

func TestShutdownMakesTheCallsThatAreQueuedAndRefusesOthers(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 2})
	g := newGate(t, 50)
	var handles []*blocking.Handle[int]
	for range 50 {
		handles = append(handles, blocking.Submit(p, g.pass))
	}
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- p.Shutdown(context.Background()) }()
	}
	eventually(t, "calls are refused", func() bool {
		h := blocking.Submit(p, func() (int, error) { return 0, nil })
		if !h.Done() {
			handles = append(handles, h)
			return false
		}
		_, err := h.Wait(t.Context())
		require.ErrorIs(t, err, blocking.ErrClosed)
		require.ErrorIs(t, err, os.ErrClosed)
		return true
	})
	require.Empty(t, ended)
	g.release()
	for range 2 {
		require.NoError(t, receive(t, "Shutdown returns", ended))
	}
	for _, h := range handles {
		require.True(t, h.Done())
		_, err := h.Wait(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, p.ThreadCount())
}

func TestCloseDropsTheCallsThatAreQueued(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1})
	g, running := occupy(t, p)
	var handles []*blocking.Handle[int]
	for range 50 {
		handles = append(handles, blocking.Submit(p, func() (int, error) { t.Error("called"); return 0, nil }))
	}
	require.NoError(t, p.Close())
	for _, h := range handles {
		require.True(t, h.Done())
		_, err := h.Wait(t.Context())
		require.ErrorIs(t, err, blocking.ErrClosed)
	}
	require.False(t, running.Done())
	g.release()
	_, err := result(t, running)
	require.NoError(t, err)
	require.NoError(t, p.Close(), "twice")
}

// In the spirit of scenario 27.
func TestShutdownInTimeSaysWhatIsLeftWhenACallDoesNotEnd(t *testing.T) {
	on(t, func(t *testing.T, rt *sched.Runtime) {
		p := newPool(t, blocking.Config{MaxThreads: 2})
		g := newGate(t, 2)
		var tasks []*sched.JoinHandle[int]
		for range 5 {
			tasks = append(tasks, sched.Go(rt, func(cx *sched.Context) (int, error) { return blocking.Do(cx, p, g.pass) }))
		}
		receive(t, "a call starts", g.entered)
		receive(t, "a call starts", g.entered)
		eventually(t, "the others queue", func() bool { return p.Pending() == 3 })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := p.Shutdown(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "2 calls were still under way at shutdown, and 3 had not started")
		g.release()
		var refused int
		for _, h := range tasks {
			if _, err := result(t, h); err != nil {
				require.ErrorIs(t, err, blocking.ErrClosed)
				refused++
			}
		}
		require.Equal(t, 3, refused)
	})
}

func TestAPoolThatWasNeverUsedShutsDown(t *testing.T) {
	var p blocking.Pool
	require.NoError(t, p.Shutdown(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.Shutdown(ctx), "nothing is left")
	require.Zero(t, p.ThreadCount()+p.IdleCount()+p.Pending())
}

func TestCallsStartInTheOrderInWhichTheyWereSubmitted(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1})
	g, _ := occupy(t, p)
	var order []int
	var last *blocking.Handle[int]
	for i := range 100 {
		last = blocking.Submit(p, func() (int, error) { order = append(order, i); return 0, nil })
	}
	g.release()
	_, err := result(t, last)
	require.NoError(t, err)
	for i, n := range order {
		require.Equal(t, i, n)
	}
	require.Len(t, order, 100)
}

// Calls are submitted and aborted, their tasks are aborted in Do, they panic, and a shutdown comes
// in the middle. Each handle has one result. The result stays, and tells whether the call was
// made. No call is made twice.
func TestUnderChurnEveryHandleResolvesExactlyOnce(t *testing.T) {
	allPrevented := 0
	for round := range 6 {
		on(t, func(t *testing.T, rt *sched.Runtime) {
			p := newPool(t, blocking.Config{MaxThreads: 1 + 3*round, KeepAlive: time.Duration(round) * 20 * time.Microsecond})
			var taken, released, made, madeForTasks atomic.Int64
			work := func(rng *rand.Rand, calls, made *atomic.Int64) func() (counted, error) {
				kind := rng.IntN(20)
				return func() (counted, error) {
					calls.Add(1)
					switch kind {
					case 0:
						panic("on purpose")
					case 1:
						time.Sleep(50 * time.Microsecond)
					}
					made.Add(1)
					return counted{&released}, nil
				}
			}
			type submission struct {
				*blocking.Handle[counted]
				calls              atomic.Int64
				prevented, aborted bool
			}
			all := make([][]*submission, 4)
			var submitters sync.WaitGroup
			for g := range all {
				submitters.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(round), uint64(g)))
					for range 300 {
						s := new(submission)
						s.Handle = blocking.Submit(p, work(rng, &s.calls, &made))
						all[g] = append(all[g], s)
						if rng.IntN(3) == 0 {
							s := all[g][len(all[g])-1-rng.IntN(min(3, len(all[g])))]
							s.aborted = true
							s.prevented = s.Abort() || s.prevented
						}
					}
				})
			}
			var tasks []*sched.JoinHandle[int]
			for g := range 8 {
				tasks = append(tasks, sched.Go(rt, func(cx *sched.Context) (int, error) {
					rng := rand.New(rand.NewPCG(uint64(round), uint64(100+g)))
					for n := 0; ; n++ {
						f := work(rng, new(atomic.Int64), &madeForTasks)
						if _, err := blocking.Do(cx, p, func() (int, error) { _, err := f(); return 0, err }); err == blocking.ErrClosed || err == sched.ErrCanceled {
							return n, err
						}
					}
				}))
			}
			time.AfterFunc(time.Millisecond, func() {
				tasks[0].Abort()
				tasks[1].Abort()
			})
			busy := func() bool { return made.Load() > 0 && madeForTasks.Load() > 0 }
			if round%2 == 0 {
				eventually(t, "calls are made", busy)
				require.NoError(t, p.Close())
			}
			submitters.Wait()
			eventually(t, "calls are made", busy)
			shutdown(t, p)
			for _, s := range slices.Concat(all...) {
				require.True(t, s.Done())
				_, err := s.Wait(t.Context())
				again, err2 := s.Wait(t.Context())
				require.Equal(t, err, err2, "a result stays")
				var panicked *sched.PanicError
				switch calls := s.calls.Load(); {
				case err == nil:
					require.Equal(t, &released, again.n)
					taken.Add(1)
					require.EqualValues(t, 1, calls)
				case errors.As(err, &panicked):
					require.EqualValues(t, 1, calls)
				case err == blocking.ErrClosed:
					require.Zero(t, calls)
				default:
					require.Equal(t, sched.ErrCanceled, err)
					require.True(t, s.aborted)
					require.LessOrEqual(t, calls, int64(1))
				}
				if s.prevented {
					allPrevented++
					require.Equal(t, sched.ErrCanceled, err)
					require.Zero(t, s.calls.Load())
				}
			}
			for _, h := range tasks {
				_, err := result(t, h)
				require.Error(t, err)
			}
			require.Equal(t, made.Load(), taken.Load()+released.Load(), "a result is taken or released")
		})
	}
	require.NotZero(t, allPrevented)
}

// A counted is a result that counts its releases.
type counted struct{ n *atomic.Int64 }

func (c counted) Release() { c.n.Add(1) }
