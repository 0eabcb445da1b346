package sched_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// pollNow polls a future once, in a task, and reports whether it was done.
func pollNow[T any](cx *sched.Context, f sched.Future[T]) bool {
	type polled struct{ done bool }
	return await(cx, sched.Future[polled](sched.FutureFunc[polled](func(cx *sched.Context) (polled, error) {
		_, err := f.Poll(cx)
		return polled{err == nil}, nil
	}))).done
}

// must fails the task, and so the test, unless cond holds.
func must(cond bool, what string, args ...any) {
	if !cond {
		panic(fmt.Sprintf(what, args...))
	}
}

func TestASleepThatIsResetToLaterIgnoresItsOldDeadlineAndToThePastIsReadyAtTheNextPoll(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			s := sched.Sleep(time.Second)
			must(!pollNow(cx, s), "done at once")
			s.Reset(time.Minute)
			await(cx, sched.Sleep(10*time.Second))
			must(!pollNow(cx, s), "done at the old deadline")
			at, ok := s.Deadline()
			must(ok && at == time.Minute, "deadline %v", at)
			await(cx, s)
			must(rt.Now() == time.Minute, "done at %v", rt.Now())
			must(pollNow(cx, s), "it stays done")

			s.Reset(time.Hour)
			must(!pollNow(cx, s), "done after a reset")
			s.ResetAt(rt.Now() - time.Second)
			must(pollNow(cx, s), "not done at the next poll")
			s.ResetAt(time.Hour)
			must(!pollNow(cx, s), "done after a reset")
			s.Reset(-1)
			must(pollNow(cx, s), "not done at the next poll")
			s.Reset(math.MaxInt64)
			must(!pollNow(cx, s), "a sum that overflows")
			s.Cancel()
			must(rt.Timers() == 0, "a timer was left")
			s.Reset(time.Second)
			began := rt.Now()
			await(cx, s)
			must(rt.Now() == began+time.Second, "used again after Cancel, it is done at %v", rt.Now())
		})
	})
}

func TestASleepThatIsResetBeforeItsFirstPollCountsFromThat(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			s := sched.SleepUntil(time.Hour)
			s.Reset(time.Second)
			_, ok := s.Deadline()
			must(!ok, "there is a deadline before the first poll")
			await(cx, sched.Sleep(time.Minute))
			await(cx, s)
			must(rt.Now() == time.Minute+time.Second, "done at %v", rt.Now())
			var zero sched.SleepFuture
			must(pollNow(cx, &zero), "the zero value is not done")
			zero.Reset(time.Second)
			await(cx, &zero)
			must(rt.Now() == time.Minute+2*time.Second, "done at %v", rt.Now())
		})
	})
}

// The waiting task is not polled in between: its waker stays with the timer.
func TestATaskThatWaitsForASleepIsWokenAtTheTimeItIsResetTo(t *testing.T) {
	for name, to := range map[string]time.Duration{"earlier": 2 * time.Second, "later": time.Minute, "past": 0} {
		t.Run(name, func(t *testing.T) {
			onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
				s := sched.Sleep(10 * time.Second)
				polls := 0
				h := sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
					polls++
					return s.Poll(cx)
				}))
				time.Sleep(time.Second)
				synctest.Wait()
				s.ResetAt(to)
				at := max(expiry(to), rt.Now())
				sleepUntil(rt, at-1)
				require.Equal(t, to == 0, h.Done())
				sleepUntil(rt, at)
				require.True(t, h.Done())
				require.Equal(t, 2, polls)
			})
		})
	}
}

func TestATimerMayBeStoppedAndStartedAgainInTheTaskThatItWakes(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			s, other := new(sched.SleepFuture), new(sched.SleepFuture)
			for i := range 100 {
				began := rt.Now()
				s.Reset(time.Duration(i) * time.Millisecond)
				other.Reset(time.Hour)
				must(!pollNow(cx, other), "an early fire")
				await(cx, s)
				must(rt.Now() == began+time.Duration(i)*time.Millisecond, "done at %v", rt.Now())
				other.Cancel()
			}
			must(rt.Timers() == 0, "a timer was left")
		})
	})
}

func TestASleepThatIsKeptAllocatesNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Paused: true})
	inTask(t, rt, func(cx *sched.Context) {
		s := new(sched.SleepFuture)
		nap := func() {
			s.Reset(time.Millisecond)
			await(cx, s)
		}
		nap()
		n := testing.AllocsPerRun(1000, nap)
		must(n == 0, "%v allocations", n)
	})
}

func TestATimeoutCanBeMoved(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			p := new(probe[string])
			f := sched.Timeout(time.Second, p)
			must(!pollNow(cx, f), "done at once")
			for range 10 { // reports progress
				await(cx, sched.Sleep(900*time.Millisecond))
				f.Reset(time.Second)
				must(!pollNow(cx, f), "expired in spite of progress")
			}
			at, ok := f.Deadline()
			must(ok && at == 10*time.Second, "deadline %v", at)
			f.ResetAt(20 * time.Second)
			_, err := sched.Await(cx, f)
			must(err == sched.ErrTimeout && rt.Now() == 20*time.Second, "%v at %v", err, rt.Now())
			must(p.cancels.Load() == 1, "not abandoned")
		})
	})
}

func TestADeadlineIsATimeOfPackageTime(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			for _, at := range []time.Time{rt.Time(time.Hour), rt.Time(2 * time.Hour).Round(0)} { // with and without a monotonic reading
				p := new(probe[string])
				_, err := sched.Await(cx, sched.Deadline(at, p))
				must(err == sched.ErrTimeout, "%v", err)
				early := rt.At(at) - rt.Now()
				must(early <= 0 && early > -time.Second, "expired %v before", early)
				must(p.cancels.Load() == 1, "not abandoned")
			}
			p := new(probe[string])
			_, err := sched.Await(cx, sched.Deadline(rt.Time(0), p))
			must(err == sched.ErrTimeout && p.polls.Load() == 1, "%v", err)
			v, err := sched.Await(cx, sched.Deadline(time.Time{}, ready("no deadline", nil)))
			must(v == "no deadline" && err == nil, "%v", err)
			f := sched.Deadline(rt.Time(100*time.Hour), new(probe[string]))
			must(!pollNow(cx, f), "done at once")
			f.(sched.Canceler).Cancel()
			must(rt.Timers() == 0, "a timer was left")
		})
	})
}
