package sched_test

import (
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

// crowd starts processes that compute on one processor. It returns the set of that processor, so
// that the caller can bind a thread to it.
func crowd(t *testing.T, processes int) unix.CPUSet {
	var mine, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &mine))
	for cpu := 0; one.Count() == 0; cpu++ {
		if mine.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	for range processes {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Skip("no shell: ", err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		require.NoError(t, unix.SchedSetaffinity(cmd.Process.Pid, &one))
	}
	return one
}

// threadCPU is the CPU time that the calling thread has used.
func threadCPU() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// A task computes for a quarter of the threshold, on a processor that it shares with many
// processes. Its run lasts longer than the threshold, but the task is not slow.
func TestATaskThatGetsNoProcessorIsNotSlow(t *testing.T) {
	patience.Alone(t) // its processes take a processor from other tests
	const limit = 60 * time.Millisecond
	var reports atomic.Int64
	fakes := []*fake{newFake()}
	rt := startOn(t, sched.Config{SlowTask: limit, Hooks: sched.Hooks{SlowTask: func(s sched.SlowTask) {
		reports.Add(1)
		if s.Waited < 0 || s.For-s.Waited < limit {
			t.Errorf("it was no slow task: %+v", s)
		}
	}}}, fakes)
	shared := crowd(t, 6)
	run := func(own time.Duration) (lasted time.Duration) {
		done := make(chan time.Duration)
		newTask(rt, 0, func(*sched.Context) bool {
			if err := unix.SchedSetaffinity(0, &shared); err != nil {
				t.Error(err)
			}
			began, used := time.Now(), threadCPU()
			for threadCPU()-used < own {
			}
			done <- time.Since(began)
			return true
		}).Wake()
		return receive(t, "the task ends", done)
	}
	spared := false
	for range 30 {
		before, slow := reports.Load(), rt.Stats().Total.SlowPolls
		lasted := run(limit / 4)
		atRest(t, rt)
		if lasted > limit*5/4 && reports.Load() == before && rt.Stats().Total.SlowPolls == slow {
			spared = true
			break
		}
	}
	require.True(t, spared, "each run that waited for a processor was reported or counted as slow")

	before := reports.Load()
	ended := make(chan struct{})
	newTask(rt, 0, func(*sched.Context) bool {
		defer close(ended)
		// The looks may come late on a busy machine: so it computes until one has found it.
		for began := time.Now(); reports.Load() == before && time.Since(began) < patience.Limit; {
		}
		return true
	}).Wake()
	receive(t, "the task ends", ended)
	require.Greater(t, reports.Load(), before, "a task that computes for long is slow there, too")
	require.Positive(t, atEnd(t, rt).Total.SlowPolls)
}

// A task computes for less time than long tasks do, on a processor that it shares with many
// processes, and yields to them first. Its run lasts long, but the task is not long.
func TestATaskThatGetsNoProcessorIsNotLong(t *testing.T) {
	patience.Alone(t) // its processes take a processor from other tests
	rt := startOn(t, sched.Config{SlowTask: time.Millisecond, Spares: -1}, []*fake{newFake()})
	shared := crowd(t, 6)
	for range 1000 {
		done := make(chan time.Duration)
		task := newTask(rt, 0, func(*sched.Context) bool {
			if err := unix.SchedSetaffinity(0, &shared); err != nil {
				t.Error(err)
			}
			began, used := time.Now(), threadCPU()
			for threadCPU()-used < 500*time.Microsecond {
				if time.Since(began) < 5*time.Millisecond { // otherwise it may never wait
					_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
				}
			}
			done <- time.Since(began)
			return true
		})
		task.Wake()
		lasted := receive(t, "the task ends", done)
		atRest(t, rt)
		if lasted > 4*time.Millisecond && !task.IsLong() {
			return
		}
	}
	t.Fatal("each run that waited for a processor was long")
}
