package timer

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func pending(n int) *Wheel {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	w := New(0)
	entries := make([]Entry, n)
	for i := range entries {
		w.Insert(&entries[i], 1+rng.Uint64N(1<<22)) // up to 70 minutes of milliseconds
	}
	return w
}

// The life of most timers: started, and stopped before it expires.
func BenchmarkInsertRemove(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
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
}

// Time goes on by a tick; what expires is armed again.
func BenchmarkTick(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
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
