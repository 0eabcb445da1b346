package sched_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// Aborts, detaches, the close of sets, and in the end the close of the runtime happen
// concurrently. Every result is taken or released, every tracked task leaves its tracker, and no
// timer or waiter stays.
func TestNothingIsLostOrReleasedTwiceWhenEverythingHappensAtOnce(t *testing.T) {
	rounds, tasks := 20, 400
	if slow || testing.Short() {
		rounds, tasks = 5, 200
	}
	for range rounds {
		rt := start(t, sched.Config{Workers: 3})
		other := start(t, sched.Config{Workers: 1})
		var made, released, taken atomic.Int64
		var tracker sched.TaskTracker
		var sets [2]sched.JoinSet[lease]
		token := sched.NewCancellationToken()

		work := func() sched.Future[lease] {
			made := sched.FutureFunc[lease](func(*sched.Context) (lease, error) {
				made.Add(1)
				return lease{&released}, nil
			})
			var wait sched.Future[struct{}]
			switch rand.IntN(4) {
			case 0:
				wait = sched.Yield()
			case 1:
				wait = sched.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			case 2:
				wait = sched.Race(token.Child().Canceled(), sched.Sleep(time.Millisecond))
			case 3:
				wait = sched.Shield(sched.Timeout(time.Millisecond, token.Canceled()))
			}
			return sched.Track(&tracker, sched.Future[lease](&steps{wait: wait, then: made}))
		}
		take := func(l lease, err error) {
			if err == nil {
				taken.Add(1)
			}
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range tasks / 4 {
					f := work()
					if rand.IntN(2) == 0 {
						h := sets[rand.IntN(2)].Spawn(rt, f)
						if rand.IntN(4) == 0 {
							h.Abort()
						}
						continue
					}
					h := sched.Spawn(rt, f)
					switch rand.IntN(3) {
					case 0:
						h.Abort()
						take(h.Wait(t.Context()))
					case 1:
						take(h.Wait(t.Context()))
					case 2:
						h.Abort()
						h.Detach()
					}
				}
			})
		}
		joining := sched.Go(other, func(cx *sched.Context) (int, error) {
			for {
				l, err := sched.Await(cx, sets[0].JoinNext())
				if err == sched.ErrEmpty {
					return 0, nil
				}
				take(l, err)
			}
		})
		all.Go(func() {
			eventually(t, "half of it is done", func() bool { return made.Load() > int64(tasks/4) })
			token.Cancel()
			sets[1].Close()
			if err := rt.Close(); err != nil {
				t.Error(err)
			}
		})
		awaitAll(t, &all)
		_, err := outcome(t, joining)
		require.NoError(t, err)
		sets[0].Close()
		require.Equal(t, made.Load(), released.Load()+taken.Load())
		require.Zero(t, tracker.Len())
		require.Zero(t, rt.Timers())
		require.Zero(t, token.Waiters()+token.Children())
		require.NoError(t, shut(t, other))
	}
}

// steps is a sequence of futures, polled one after the other.
type steps struct {
	wait   sched.Future[struct{}]
	waited bool
	then   sched.Future[lease]
}

func (s *steps) Poll(cx *sched.Context) (lease, error) {
	if !s.waited {
		if _, err := s.wait.Poll(cx); err == sched.ErrPending {
			return lease{}, err
		}
		s.waited = true
	}
	return s.then.Poll(cx)
}

func (s *steps) Cancel() {
	if c, ok := s.wait.(sched.Canceler); ok && !s.waited {
		c.Cancel()
	}
}
