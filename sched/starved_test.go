package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/cputime"
	"github.com/suiro-go/suiro/sched"
)

// A fakeThread holds the kernel's counts of a worker's thread. The test advances it with the
// paused clock.
type fakeThread struct {
	rt  *sched.Runtime
	now cputime.Reading
}

// starvable is a runtime with one worker, on a paused clock. The test controls the worker's
// thread.
func starvable(t *testing.T) (*fakeThread, *slowLog) {
	rt, l := pausedSlow(t, sched.Config{Workers: 1})
	f := &fakeThread{rt, cputime.Reading{At: time.Now(), Runnable: true}}
	rt.ReadThreads(func(int) (cputime.Reading, bool) { return f.now, true })
	return f, l
}

// advance moves the clock in steps so short that a look finds the run before each step is over.
func (f *fakeThread) advance(d time.Duration, each func(step time.Duration)) {
	for d > 0 {
		step := min(d, slowTask/2)
		f.now.At = f.now.At.Add(step)
		each(step)
		f.rt.Advance(step)
		d -= step
	}
}

func (f *fakeThread) runs(d time.Duration) {
	f.advance(d, func(step time.Duration) { f.now.Ran += step })
}
func (f *fakeThread) waits(d time.Duration)  { f.advance(d, func(time.Duration) {}) }
func (f *fakeThread) sleeps(d time.Duration) { f.now.Sleeps++; f.advance(d, func(time.Duration) {}) }

func TestARunThatWaitsForAProcessorIsNotSlow(t *testing.T) {
	f, l := starvable(t)
	release := blocked(t, f.rt, 0)
	f.runs(slowTask / 2)
	f.waits(time.Minute)
	f.runs(slowTask/2 - 1)
	require.Empty(t, l.take())
	release()
	require.Zero(t, atEnd(t, f.rt).Total.SlowPolls)
}

func TestAReportTellsHowLongTheThreadWaited(t *testing.T) {
	f, l := starvable(t)
	for range 3 {
		release := blocked(t, f.rt, 0)
		f.runs(slowTask / 2)
		f.waits(3 * slowTask)
		f.runs(slowTask / 4)
		require.Empty(t, l.take())
		f.runs(slowTask / 4)
		all := l.take()
		require.Len(t, all, 1)
		require.Equal(t, 4*slowTask, all[0].For)
		require.Equal(t, 3*slowTask, all[0].Waited)
		f.waits(time.Second)
		f.runs(slowTask)
		require.Empty(t, l.take(), "once for each run")
		release()
	}
	s := atEnd(t, f.rt).Total
	require.EqualValues(t, 3, s.SlowPolls)
	require.Equal(t, 2*slowTask, s.MaxPoll, "without the waits")
}

// A late look does not know the thread's earlier waits. It assumes that all time before it was
// waiting.
func TestALookThatComesLateReportsNothingYet(t *testing.T) {
	f, l := starvable(t)
	release := blocked(t, f.rt, 0)
	f.now.At = f.now.At.Add(3 * slowTask)
	f.rt.Advance(3 * slowTask)
	f.runs(slowTask/2 - 1)
	require.Empty(t, l.take())
	f.runs(1)
	all := l.take()
	require.Len(t, all, 1)
	require.Equal(t, slowTask*7/2, all[0].For)
	require.Zero(t, all[0].Waited, "it is not known")
	release()
	require.Equal(t, slowTask*7/2, atEnd(t, f.rt).Total.MaxPoll)
}

// The kernel is asked only as often as necessary to decide whether a run is slow.
func TestTheKernelIsAskedSeldom(t *testing.T) {
	f, l := starvable(t)
	asked := 0
	f.rt.ReadThreads(func(int) (cputime.Reading, bool) { asked++; return f.now, true })
	release := blocked(t, f.rt, 0)
	steps := func(d time.Duration) {
		for range d / time.Millisecond {
			f.waits(time.Millisecond)
		}
	}
	steps(slowTask/2 - time.Millisecond)
	require.Zero(t, asked)
	steps(10 * slowTask)
	require.LessOrEqual(t, asked, 2*10+1)
	require.Empty(t, l.take())
	release()
}

// A thread that sleeps in a call is stuck, and not starved. A thread of unknown state is, too.
func TestARunThatBlocksIsSlow(t *testing.T) {
	for name, prepare := range map[string]func(f *fakeThread){
		"it sleeps":                func(f *fakeThread) { f.now.Runnable = false },
		"it slept, and runs again": func(f *fakeThread) {},
		"the kernel tells nothing": func(f *fakeThread) {
			f.rt.ReadThreads(func(int) (cputime.Reading, bool) { return cputime.Reading{}, false })
		},
		"the thread is not known":      func(f *fakeThread) { f.rt.ForgetThreads() },
		"it sleeps, and waited before": func(f *fakeThread) { f.now.Queued = time.Hour },
	} {
		f, l := starvable(t)
		prepare(f)
		release := blocked(t, f.rt, 0)
		f.sleeps(slowTask / 2)
		f.sleeps(slowTask/2 - 1)
		require.Empty(t, l.take(), name)
		f.sleeps(1)
		all := l.take()
		require.Len(t, all, 1, name)
		require.Equal(t, slowTask, all[0].For, name)
		require.Zero(t, all[0].Waited, name)
		release()
		s := atEnd(t, f.rt).Total
		require.EqualValues(t, 1, s.SlowPolls, name)
		require.Equal(t, slowTask, s.MaxPoll, name)
	}
}

// A run of some milliseconds makes a task long, unless its thread only waited for a processor.
func TestATaskWhoseThreadWaitsForAProcessorIsNotLong(t *testing.T) {
	const lasts = 3 * time.Millisecond
	for name, c := range map[string]struct {
		run  func(r *cputime.Reading, id *int)
		long bool
	}{
		"it waits":                   {func(*cputime.Reading, *int) {}, false},
		"it computes a bit":          {func(r *cputime.Reading, _ *int) { r.Ran += lasts / 6 }, false},
		"it computes":                {func(r *cputime.Reading, _ *int) { r.Ran += time.Hour }, true},
		"it sleeps":                  {func(r *cputime.Reading, _ *int) { r.Sleeps++ }, true},
		"it goes on elsewhere":       {func(_ *cputime.Reading, id *int) { *id = 8 }, true},
		"the kernel tells no longer": {func(_ *cputime.Reading, id *int) { *id = 0 }, true},
	} {
		d := newFake()
		rt := sched.New(sched.Config{Workers: 1, SlowTask: time.Millisecond, NewDriver: func(int) (sched.Driver, error) { return d, nil }})
		now, id := cputime.Reading{Queued: -1, Runnable: true}, 7 // only the worker uses these
		rt.FakeThreads(func() (int, cputime.Reading) { now.At = time.Now(); return id, now }, cputime.Of)
		require.NoError(t, rt.Start())
		done := make(chan struct{})
		task := newTask(rt, 0, func(*sched.Context) bool {
			began, looks := rt.Now(), rt.Looks()
			for rt.Now()-began < lasts || rt.Looks()-looks < 2 { // a run is timed after a look
				time.Sleep(lasts / 10)
			}
			c.run(&now, &id)
			close(done)
			return false
		})
		task.Wake()
		receive(t, "the run ends", done)
		require.NoError(t, shut(t, rt))
		require.Equal(t, c.long, task.IsLong(), name)
	}
}

// Time that a thread waited in one run does not count for the next run.
func TestEachRunHasItsOwnWaits(t *testing.T) {
	f, l := starvable(t)
	for i := range 3 {
		release := blocked(t, f.rt, 0)
		f.runs(slowTask / 2)
		f.waits(5 * slowTask)
		release()
		require.Empty(t, l.take())
		release = blocked(t, f.rt, 0)
		f.runs(2 * slowTask)
		release()
		require.Len(t, l.take(), 1)
		require.EqualValues(t, i+1, f.rt.Stats().Total.SlowPolls)
	}
	require.Equal(t, 2*slowTask, atEnd(t, f.rt).Total.MaxPoll)
}
