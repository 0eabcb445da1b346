package syncx_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A contest is what parties take and give back: party i of goroutines by std, the others by ours.
type contest struct {
	std  func(i int) (take, give func())
	ours func(i int) (take op, give func())
}

func BenchmarkMutex(b *testing.B) {
	var std sync.Mutex
	var mu syncx.Mutex
	contest{
		func(int) (take, give func()) { return std.Lock, std.Unlock },
		func(int) (op, func()) { return locking(&mu), mu.Unlock },
	}.run(b)
}

// One party in ten writes.
func BenchmarkRWMutex(b *testing.B) {
	var std sync.RWMutex
	var rw syncx.RWMutex
	contest{
		func(i int) (take, give func()) {
			if i%10 == 9 {
				return std.Lock, std.Unlock
			}
			return std.RLock, std.RUnlock
		},
		func(i int) (op, func()) {
			if i%10 == 9 {
				return writing(&rw), rw.Unlock
			}
			return reading(&rw), rw.RUnlock
		},
	}.run(b)
}

// There are two permits. Goroutines have a channel for that.
func BenchmarkSemaphore(b *testing.B) {
	c := make(chan struct{}, 2)
	s := syncx.NewSemaphore(2)
	contest{
		func(int) (take, give func()) { return func() { c <- struct{}{} }, func() { <-c } },
		func(int) (op, func()) {
			return acquiring(s, 1), func() { s.Release(1) }
		},
	}.run(b)
}

// run measures the cost of taking and giving back: by one party, and by several at once that only
// do that and a little work in between.
func (c contest) run(b *testing.B) {
	for _, n := range []int{1, 2, 8, 100} {
		for _, work := range []int{1, 50} {
			b.Run(fmt.Sprintf("n=%d/work=%d", n, work), func(b *testing.B) { c.among(b, n, work) })
		}
	}
}

func (c contest) among(b *testing.B, n, work int) {
	share := func(b *testing.B, i int) int { return (b.N + i) / n }
	do := func() {
		for i := range work {
			runtime.KeepAlive(&i)
		}
	}
	goroutines := func(b *testing.B, take func(i int) (take, give func())) {
		b.ReportAllocs()
		var all sync.WaitGroup
		for i := range n {
			take, give := take(i)
			all.Go(func() {
				for range share(b, i) {
					take()
					do()
					give()
				}
			})
		}
		all.Wait()
	}
	b.Run("std", func(b *testing.B) { goroutines(b, c.std) })
	b.Run("goroutine", func(b *testing.B) {
		goroutines(b, func(i int) (take, give func()) {
			o, back := c.ours(i)
			return func() { _ = o.wait(context.Background()) }, back
		})
	})
	tasks := func(b *testing.B, spawn func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}]) {
		rt := start(b, sched.Config{Workers: min(n, 2)})
		b.ReportAllocs()
		b.ResetTimer()
		handles := make([]*sched.JoinHandle[struct{}], n)
		for i := range handles {
			handles[i] = spawn(rt, i)
		}
		for _, h := range handles {
			if _, err := h.Wait(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("stackful", func(b *testing.B) {
		tasks(b, func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}] {
			o, back := c.ours(i)
			return sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
				for range share(b, i) {
					if err := o.wait(cx); err != nil {
						return struct{}{}, err
					}
					do()
					back()
				}
				return struct{}{}, nil
			})
		})
	})
	b.Run("stackless", func(b *testing.B) {
		tasks(b, func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}] {
			o, back := c.ours(i)
			take, left := o.future(), share(b, i)
			return sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
				for ; left > 0; left-- {
					if _, err := take.Poll(cx); err != nil {
						return struct{}{}, err
					}
					do()
					back()
				}
				return struct{}{}, nil
			}))
		})
	})
}
