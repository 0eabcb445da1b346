package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A timer of the runtime is started and stopped before it fires, while a given number of others
// are pending. This includes the wheel, its lock and the check of the keeper. For comparison:
// time.AfterFunc and Stop, and Reset and Stop of one time.Timer, in an ordinary goroutine with as
// many pending timers. See package timer for the wheel alone.
func BenchmarkStartStopTimer(b *testing.B) {
	for _, n := range []int{1e3, 1e6} {
		b.Run(fmt.Sprintf("sched/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			rt := start(b, sched.Config{Workers: 1})
			rng := rand.New(rand.NewPCG(1, 1))
			timers := make([]sched.Timer, n)
			for i := range timers {
				rt.StartTimer(&timers[i], time.Hour+time.Duration(rng.Int64N(int64(time.Hour))), sched.Waker{})
			}
			var t sched.Timer
			when := time.Duration(0)
			for b.Loop() {
				when = (when + 7919*time.Millisecond) % time.Hour
				rt.StartTimer(&t, time.Hour+when, sched.Waker{})
				rt.StopTimer(&t)
			}
		})
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%d", map[bool]string{false: "afterfunc", true: "reset"}[kept], n), func(b *testing.B) {
				b.ReportAllocs()
				rng := rand.New(rand.NewPCG(1, 1))
				timers := make([]*time.Timer, n)
				for i := range timers {
					timers[i] = time.AfterFunc(time.Hour+time.Duration(rng.Int64N(int64(time.Hour))), func() {})
				}
				t := time.AfterFunc(time.Hour, func() {})
				when := time.Duration(0)
				for b.Loop() {
					when = (when + 7919*time.Millisecond) % time.Hour
					if kept {
						t.Reset(time.Hour + when)
					} else {
						t = time.AfterFunc(time.Hour+when, func() {})
					}
					t.Stop()
				}
				for _, t := range timers {
					t.Stop()
				}
			})
		}
	}
}
