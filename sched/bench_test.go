package sched_test

import (
	"testing"

	"github.com/suiro-go/suiro/sched"
)

func benchRuntime(b *testing.B, workers int) *sched.Runtime {
	b.Helper()
	b.ReportAllocs()
	return start(b, sched.Config{Workers: workers})
}

// One task wakes itself: the cost of a run and the scheduling around it.
func BenchmarkSelfWake(b *testing.B) {
	rt := benchRuntime(b, 1)
	done := make(chan struct{})
	left := b.N
	task := newTask(rt, 0, func(cx *sched.Context) bool {
		if left--; left <= 0 {
			close(done)
			return true
		}
		cx.Waker().Wake()
		return false
	})
	b.ResetTimer()
	task.Wake()
	<-done
}

// Two tasks of one worker wake each other: the cost per wake-up and run.
func BenchmarkLocalWake(b *testing.B) {
	rt := benchRuntime(b, 1)
	done := make(chan struct{})
	left := b.N
	var tasks [2]sched.Task
	for i := range tasks {
		tasks[i].Init(rt, body(func(cx *sched.Context) bool {
			if left--; left == 0 {
				close(done)
			} else if left > 0 {
				cx.Wake(tasks[1-i].Waker())
			}
			return false
		}))
	}
	b.ResetTimer()
	tasks[0].Wake()
	<-done
}

// A goroutine wakes the task of a parked worker, and the task answers: a round trip.
func BenchmarkRemoteWakeRoundTrip(b *testing.B) {
	rt := benchRuntime(b, 1)
	answer := make(chan struct{})
	task := newTask(rt, 0, func(*sched.Context) bool { answer <- struct{}{}; return false })
	b.ResetTimer()
	for range b.N {
		task.Wake()
		<-answer
	}
}

// A goroutine wakes a task of a busy worker: the cost for the goroutine.
func BenchmarkRemoteWakeOfABusyWorker(b *testing.B) {
	rt := benchRuntime(b, 1)
	release := occupy(b, rt, 0)
	tasks := make([]sched.Task, b.N)
	for i := range tasks {
		tasks[i].Init(rt, body(func(*sched.Context) bool { return true }))
	}
	b.ResetTimer()
	for i := range tasks {
		tasks[i].Wake()
	}
	b.StopTimer()
	release()
}

// Tasks of two workers wake each other: a round trip.
func BenchmarkWorkerToWorkerRoundTrip(b *testing.B) {
	rt := benchRuntime(b, 2)
	done := make(chan struct{})
	left := 2 * b.N
	var tasks [2]sched.Task
	for i := range tasks {
		tasks[i].Init(rt, body(func(cx *sched.Context) bool {
			if left--; left == 0 {
				close(done)
			} else if left > 0 {
				cx.Wake(tasks[1-i].Waker())
			}
			return false
		}))
	}
	b.ResetTimer()
	tasks[0].Wake()
	<-done
}

func BenchmarkSpawnAndWait(b *testing.B) {
	rt := benchRuntime(b, 1)
	f := ready(1, nil)
	for b.Loop() {
		if _, err := sched.Spawn(rt, f).Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
