package sched_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// The one worker that was woken is kept from searching: then a burst must wake no
// other worker. Once it searches, it wakes the next one, and so on, until as many are awake as the
// burst needs.
func TestABurstWakesOneWorkerWhichWakesTheNext(t *testing.T) {
	for _, workers := range []int{2, 4, 8} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			var gated atomic.Bool
			woken, goOn := make(chan int, workers), make(chan struct{})
			fakes := make([]*fake, workers)
			for i := range fakes {
				fakes[i] = newFake()
			}
			var rt *sched.Runtime
			var most atomic.Int64
			watch := func() {
				if rt != nil {
					if n := int64(rt.Stats().Searching); n > most.Load() {
						most.Store(n)
					}
				}
			}
			rt = startOn(t, sched.Config{Hold: -1, Hooks: sched.Hooks{WorkerUnpark: func(w int) {
				if gated.Load() {
					woken <- w
					<-goOn
				}
			}}}.Endless(), fakes)
			eventually(t, "all workers wait", func() bool {
				for _, d := range fakes {
					if !d.waitsIn(blocking) {
						return false
					}
				}
				return rt.Stats().Parked == workers
			})
			wakes := func() (n int) {
				for _, d := range fakes {
					n += d.count(&d.wakes)
				}
				return n
			}
			before := wakes()
			gated.Store(true)
			var meet sync.WaitGroup // each task needs its own worker
			meet.Add(workers)
			spawn := func() {
				sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) {
					watch()
					meet.Done()
					meet.Wait()
					return 0, nil
				})).Detach()
			}
			spawn()
			receive(t, "a worker is woken", woken)
			for range workers - 1 {
				spawn()
				watch()
			}
			require.Equal(t, before+1, wakes(), "it searches")
			require.Equal(t, 1, rt.Stats().Searching)
			require.Equal(t, workers-1, rt.Stats().Parked)
			gated.Store(false)
			close(goOn)
			awaitAll(t, &meet)
			require.LessOrEqual(t, most.Load(), int64(max(1, workers/2)))
			require.GreaterOrEqual(t, wakes(), before+workers-1)
		})
	}
}

// Bursts of all sizes, sampled.
func TestNeverMoreThanHalfOfTheWorkersSearch(t *testing.T) {
	for _, workers := range []int{2, 4, 5} {
		rt := start(t, sched.Config{Workers: workers}.Endless())
		stop := make(chan struct{})
		var sampler sync.WaitGroup
		var most int
		sampler.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					most = max(most, rt.Stats().Searching)
				}
			}
		})
		for i := range rounds(2000) {
			var ran sync.WaitGroup
			for range 1 + i%50 {
				ran.Add(1)
				freeTask(rt, func(cx *sched.Context) bool { ran.Done(); return true }).Wake()
			}
			awaitAll(t, &ran)
		}
		close(stop)
		sampler.Wait()
		require.LessOrEqual(t, most, max(1, workers/2))
		eventually(t, "the search ends", func() bool {
			s := rt.Stats()
			return s.Parked == workers && s.Searching == 0
		})
	}
}

// With running workers. The length of tasks is unknown, but the interval must match
// the mean length that is published with it.
func TestTheIntervalIsThatOfTheMeanRun(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for _, spin := range []time.Duration{0, 5 * time.Microsecond, 300 * time.Microsecond} {
			var ran sync.WaitGroup
			for range rounds(2000) / max(1, int(spin/(5*time.Microsecond))) {
				ran.Add(1)
				freeTask(rt, func(*sched.Context) bool {
					for begin := rt.Now(); rt.Now() < begin+spin; {
					}
					ran.Done()
					return true
				}).Wake()
			}
			awaitAll(t, &ran)
			atRest(t, rt)
			for _, w := range rt.Stats().Workers {
				if w.Parks == 0 {
					continue // nothing has been published
				}
				want := min(255, max(8, float64(time.Millisecond)/float64(max(1, w.MeanPoll))))
				require.InDelta(t, want, w.GlobalInterval, math.Ceil(want/float64(max(1, w.MeanPoll)))+1) // the mean is cut to nanoseconds
			}
		}
	})
}

// A burst from a driver is shared if running it takes longer than a wake-up costs, and otherwise
// not.
func TestAPeerIsWokenForALongQueueOfIO(t *testing.T) {
	for name, c := range map[string]struct {
		cost   time.Duration
		shared bool
	}{"dear": {time.Hour, false}, "cheap": {1, true}} {
		t.Run(name, func(t *testing.T) {
			rt, fakes := startFakes(t, sched.Config{Workers: 2, Hold: -1, WakeCost: c.cost}.Endless())
			eventually(t, "all workers wait", func() bool { return fakes[0].waitsIn(blocking) && fakes[1].waitsIn(blocking) })
			before := fakes[1].count(&fakes[1].wakes)
			ran := make(chan struct{})
			fakes[0].events <- func(cx *sched.Context) (int, error) {
				last := freeTask(rt, func(*sched.Context) bool { close(ran); return true })
				for range 3 {
					cx.Wake(freeTask(rt, func(*sched.Context) bool { return true }).Waker())
				}
				cx.Wake(last.Waker())
				return 4, nil
			}
			receive(t, "the last task runs", ran)
			atRest(t, rt)
			stats := rt.Stats()
			if c.shared {
				require.Positive(t, fakes[1].count(&fakes[1].wakes)-before)
				require.Zero(t, stats.Total.WakesSpared)
			} else {
				require.Equal(t, before, fakes[1].count(&fakes[1].wakes))
				require.Positive(t, stats.Total.WakesSpared)
			}
		})
	}
}
