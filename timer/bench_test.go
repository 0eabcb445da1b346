package timer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var sizes = []int{1e3, 1e4, 1e5, 1e6}

func pending(n int) *Wheel {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	w := New(0)
	entries := make([]Entry, n)
	for i := range entries {
		w.Insert(&entries[i], 1+rng.Uint64N(1<<22)) // up to 70 minutes of milliseconds
	}
	return w
}

// Most timers are started, and stopped before they expire, while many others are pending. For this
// package the benchmark measures only the wheel, without a lock and a clock (sched has a benchmark
// with both). For the standard library it measures the whole timer, including these. Each start
// allocates a timer (afterfunc) or none (reset). As many others are pending on the same processor.
func BenchmarkInsertRemove(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("wheel/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			w := pending(n)
			var e Entry
			when := uint64(0)
			for b.Loop() {
				when = (when + 7919) % (1 << 22)
				w.Insert(&e, when)
				w.Remove(&e)
			}
		})
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("afterfunc/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer pendingAfterFuncs(n)()
			when := uint64(0)
			for b.Loop() {
				when = (when + 7919) % (1 << 22)
				time.AfterFunc(time.Hour+time.Duration(when)*time.Millisecond, nothing).Stop()
			}
		})
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("reset/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer pendingAfterFuncs(n)()
			when := uint64(0)
			t := time.AfterFunc(time.Hour, nothing)
			for b.Loop() {
				when = (when + 7919) % (1 << 22)
				t.Reset(time.Hour + time.Duration(when)*time.Millisecond)
				t.Stop()
			}
		})
	}
}

func nothing() {}

// pendingAfterFuncs starts timers spread like those of pending. None of them expires meanwhile.
// The Go runtime removes stopped timers lazily, so stop stops each of them at the end.
func pendingAfterFuncs(n int) (stop func()) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour+time.Duration(rng.Uint64N(1<<22))*time.Millisecond, nothing)
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}

// Time advances by a tick; expired entries are started again.
func BenchmarkTick(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			w := pending(n)
			rng := rand.New(rand.NewPCG(2, 2))
			now := uint64(0)
			for b.Loop() {
				now++
				for e := w.Expire(now); e != nil; e = w.Expire(now) {
					w.Insert(e, now+1+rng.Uint64N(1<<22))
				}
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	w := pending(1e5)
	for b.Loop() {
		w.Next()
	}
}
