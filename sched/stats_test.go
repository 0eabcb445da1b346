package sched_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestSpawnsFromOutsideCountAsRemoteAndThoseOfTasksAsLocal(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		const outside, inside = 7, 11
		for range outside {
			_, err := wait(t, sched.Spawn(rt, ready(1, nil)))
			require.NoError(t, err)
		}
		_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			for range inside {
				if _, err := sched.Await[int](cx, sched.Spawn(cx, ready(1, nil))); err != nil {
					return 0, err
				}
				if _, err := sched.Await[int](cx, sched.Go(cx, func(*sched.Context) (int, error) { return 1, nil })); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}))
		require.NoError(t, err)
		require.NoError(t, shut(t, rt))
		s := rt.Stats()
		require.EqualValues(t, outside+1, s.SpawnedRemote)
		require.EqualValues(t, 2*inside, s.Total.SpawnedLocal)
	})
}

// atEnd returns the workers' counts at their end.
func atEnd(t *testing.T, rt *sched.Runtime) sched.Stats {
	t.Helper()
	require.NoError(t, shut(t, rt))
	return rt.Stats()
}

func TestTheTotalIsTheSumOfTheWorkers(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var ran sync.WaitGroup
		for range 500 {
			ran.Add(2)
			sched.Go(rt, func(cx *sched.Context) (int, error) {
				sched.Spawn(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran.Done(); return 0, nil })).Detach()
				_, err := sched.Await(cx, sched.Yield())
				ran.Done()
				return 0, err
			}).Detach()
		}
		awaitAll(t, &ran)
		s := atEnd(t, rt)
		require.Len(t, s.Workers, rt.Workers())
		total := reflect.ValueOf(s.Total)
		for i := range total.NumField() {
			name := total.Type().Field(i).Name
			if !total.Type().Field(i).IsExported() || name == "SlowPollTimes" || name == "MaxPoll" || name == "PollEvents" { // see TestTheTotalOfSlowPolls
				continue
			}
			var sum uint64
			for _, w := range s.Workers {
				f := reflect.ValueOf(w).Field(i)
				if f.CanUint() {
					sum += f.Uint()
				} else {
					sum += uint64(f.Int())
				}
			}
			switch name {
			case "GlobalInterval", "MeanPoll", "Hold":
				require.EqualValues(t, sum/uint64(rt.Workers()), total.Field(i).Int(), name)
			case "Queued", "Coroutines", "Busy":
				require.EqualValues(t, sum, total.Field(i).Int(), name)
			default:
				require.Equal(t, sum, total.Field(i).Uint(), name)
			}
		}
		require.EqualValues(t, 500, s.Total.SpawnedLocal)
		require.GreaterOrEqual(t, s.Total.Polled, uint64(3*500))
		require.GreaterOrEqual(t, s.Total.Parks, s.Total.Unparks)
		require.GreaterOrEqual(t, s.Total.StealAttempts, s.Total.Steals)
		require.GreaterOrEqual(t, s.Total.Stolen, s.Total.Steals)
		require.Positive(t, s.Total.BatchFetches)
		require.Positive(t, s.Total.MeanPoll)
		require.Positive(t, s.Total.GlobalInterval)
	})
}

func TestEveryRunIsCounted(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	const n = 1000
	runs := 0
	done := make(chan struct{})
	freeTask(rt, func(cx *sched.Context) bool {
		if runs++; runs == n {
			close(done)
			return true
		}
		cx.Waker().Wake()
		return false
	}).Wake()
	receive(t, "the task ends", done)
	s := atEnd(t, rt)
	require.EqualValues(t, n, s.Total.Polled)
	require.Zero(t, s.Total.LIFOHits)
	require.Zero(t, s.Total.Steals)
}

func TestRunsFromTheLIFOSlotAreCounted(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ran := make(chan struct{})
	freeTask(rt, func(cx *sched.Context) bool {
		cx.Wake(freeTask(rt, func(*sched.Context) bool { close(ran); return true }).Waker())
		return true
	}).Wake()
	receive(t, "the task runs", ran)
	require.EqualValues(t, 1, atEnd(t, rt).Total.LIFOHits)
}

func TestWhatIsQueuedIsInTheStats(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	releases := []func(){occupy(t, rt, 0), occupy(t, rt, 1)}
	for range 5 {
		freeTask(rt, func(*sched.Context) bool { return true }).Wake()
	}
	for range 3 {
		newTask(rt, 1, func(*sched.Context) bool { return true }).Wake()
	}
	s := rt.Stats()
	require.Equal(t, 5, s.GlobalQueued)
	require.Equal(t, 3, s.Workers[1].Queued)
	require.Zero(t, s.Workers[0].Queued)
	require.Equal(t, 3, s.Total.Queued)
	require.Zero(t, s.Parked)
	for _, release := range releases {
		release()
	}
	eventually(t, "nothing is queued", func() bool {
		s := rt.Stats()
		return s.GlobalQueued == 0 && s.Total.Queued == 0 && s.Parked == 2
	})
}

func TestABusyWorkerPublishesItsCounts(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	hogs(t, rt, 2)
	eventually(t, "counts go up", func() bool { return rt.Stats().Total.Polled > 1000 })
}

// A log records the calls of hooks.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func (l *log) hooks() sched.Hooks {
	return sched.Hooks{
		WorkerStart:   func(w int) { l.add("start %d", w) },
		WorkerStop:    func(w int) { l.add("stop %d", w) },
		WorkerPark:    func(w int) { l.add("park %d", w) },
		WorkerUnpark:  func(w int) { l.add("unpark %d", w) },
		TaskSpawn:     func(id sched.TaskID) { l.add("spawn %d", id) },
		TaskPollStart: func(w int, id sched.TaskID) { l.add("poll %d on %d", id, w) },
		TaskPollEnd:   func(w int, id sched.TaskID) { l.add("polled %d on %d", id, w) },
		TaskEnd:       func(id sched.TaskID, err error) { l.add("end %d: %v", id, err) },
	}
}

func TestHooksAreCalledInOrder(t *testing.T) {
	l := new(log)
	d := newFake()
	rt := startOn(t, sched.Config{Hold: -1, Hooks: l.hooks()}.Endless(), []*fake{d})
	atRest := func() { eventually(t, "the worker waits", func() bool { return d.waitsIn(blocking) }) }
	atRest()
	require.Equal(t, []string{"start 0", "park 0"}, l.take())

	g := new(gate)
	h := sched.Spawn(rt, g)
	eventually(t, "it is polled", func() bool { return g.polls.Load() == 1 })
	atRest()
	lines := l.take()
	require.Equal(t, "spawn 1", lines[0])
	require.Equal(t, []string{"unpark 0", "poll 1 on 0", "polled 1 on 0", "park 0"}, lines[1:])
	g.Open("")
	_, err := wait(t, h)
	require.NoError(t, err)
	atRest()
	require.Equal(t, []string{"unpark 0", "poll 1 on 0", "polled 1 on 0", "end 1: <nil>", "park 0"}, l.take())

	_, err = wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		sched.Go(cx, func(*sched.Context) (int, error) { return 0, sched.ErrDetached }).Detach()
		panic("oh")
	})))
	require.Error(t, err)
	pass(t, rt, 0)
	atRest()
	lines = l.take()
	require.Equal(t, "spawn 2", lines[0])
	lines = withoutParks(lines[1:])
	require.Equal(t, []string{
		"poll 2 on 0", "spawn 3", "end 2: sched: task panicked: oh", "poll 3 on 0", "polled 3 on 0", "end 3: " + sched.ErrDetached.Error(),
		"poll 0 on 0", "polled 0 on 0", // the task of pass
	}, lines)

	g = new(gate)
	left := sched.Spawn(rt, g)
	eventually(t, "it is polled", func() bool { return g.polls.Load() == 1 })
	atRest()
	require.NoError(t, shut(t, rt))
	_, err = wait(t, left)
	require.ErrorIs(t, err, sched.ErrClosed)
	lines = withoutParks(l.take())
	require.Equal(t, []string{"spawn 4", "poll 4 on 0", "polled 4 on 0", "stop 0", "end 4: " + sched.ErrClosed.Error()}, lines)
}

func withoutParks(lines []string) (rest []string) {
	for _, s := range lines {
		if s != "park 0" && s != "unpark 0" {
			rest = append(rest, s)
		}
	}
	return rest
}

// Each hook alone, since any may be nil.
func TestAnyHookMayBeMissing(t *testing.T) {
	all := reflect.ValueOf(new(log).hooks())
	for i := range all.NumField() {
		if all.Field(i).IsNil() { // SlowTask: no task is slow here
			continue
		}
		var hooks sched.Hooks
		l := new(log)
		reflect.ValueOf(&hooks).Elem().Field(i).Set(reflect.ValueOf(l.hooks()).Field(i))
		rt := start(t, sched.Config{Workers: 2, Hooks: hooks})
		for range 10 {
			_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				_, err := sched.Await(cx, sched.Yield())
				return 0, err
			}))
			require.NoError(t, err)
		}
		atRest(t, rt)
		require.NoError(t, shut(t, rt))
		require.NotEmpty(t, l.take(), all.Type().Field(i).Name)
	}
}

func TestHooksComeInPairs(t *testing.T) {
	onHooks := func(workers int) {
		var mu sync.Mutex
		parked, spawned, ended := map[int]int{}, map[sched.TaskID]int{}, map[sched.TaskID]int{}
		count := func(f func()) { mu.Lock(); f(); mu.Unlock() }
		rt := start(t, sched.Config{Workers: workers, Hooks: sched.Hooks{
			WorkerPark:   func(w int) { count(func() { parked[w]++ }) },
			WorkerUnpark: func(w int) { count(func() { parked[w]-- }) },
			TaskSpawn:    func(id sched.TaskID) { count(func() { spawned[id]++ }) },
			TaskEnd:      func(id sched.TaskID, _ error) { count(func() { ended[id]++ }) },
		}})
		var ran sync.WaitGroup
		const n = 200
		for range n {
			ran.Add(2)
			sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				sched.Spawn(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran.Done(); return 0, nil })).Detach()
				ran.Done()
				return 0, nil
			})).Detach()
			time.Sleep(time.Microsecond) // so that workers park now and then
		}
		awaitAll(t, &ran)
		require.NoError(t, shut(t, rt))
		require.Len(t, spawned, 2*n)
		require.Equal(t, spawned, ended)
		for id := range sched.TaskID(2 * n) {
			require.Equal(t, 1, ended[id+1])
		}
		for w, n := range parked {
			require.Zero(t, n, "worker %d", w)
		}
	}
	for _, workers := range []int{1, 2, 4} {
		onHooks(workers)
	}
}
