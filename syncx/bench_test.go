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

// share is the part of b.N for one of n parties.
func share(b *testing.B, i, n int) int {
	if i == 0 {
		return b.N/n + b.N%n
	}
	return b.N / n
}

// inGoroutines runs n goroutines.
func inGoroutines(b *testing.B, n int, run func(i int)) {
	b.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i) })
	}
	all.Wait()
}

// loop makes a stackful task call once a number of times.
func loop(rt *sched.Runtime, times int, once func(cx *sched.Context) error) *sched.JoinHandle[struct{}] {
	return sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		for range times {
			if err := once(cx); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
}

// A free permit is acquired and released. Goroutines have a channel for that.
func BenchmarkSemaphoreUncontended(b *testing.B) {
	b.Run("channel", func(b *testing.B) {
		c := make(chan struct{}, 1)
		for range b.N {
			c <- struct{}{}
			<-c
		}
	})
	b.Run("stackful", func(b *testing.B) {
		s := syncx.NewSemaphore(1)
		inTask(b, func(cx *sched.Context) error {
			for range b.N {
				if err := s.Acquire(cx, 1); err != nil {
					return err
				}
				s.ReleaseFrom(cx, 1)
			}
			return nil
		})
	})
}

// Many tasks only acquire and release one of two permits.
func BenchmarkSemaphoreContended(b *testing.B) {
	for _, n := range []int{8, 100} {
		b.Run(fmt.Sprintf("n=%d/channel", n), func(b *testing.B) {
			c := make(chan struct{}, 2)
			inGoroutines(b, n, func(i int) {
				for range share(b, i, n) {
					c <- struct{}{}
					<-c
				}
			})
		})
		b.Run(fmt.Sprintf("n=%d/stackful", n), func(b *testing.B) {
			s := syncx.NewSemaphore(2)
			inTasks(b, n, func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}] {
				return loop(rt, share(b, i, n), func(cx *sched.Context) error {
					err := s.Acquire(cx, 1)
					if err == nil {
						s.ReleaseFrom(cx, 1)
					}
					return err
				})
			})
		})
	}
}

// The exact order of all calls: each wait is a switch of tasks.
func BenchmarkSemaphoreOfOneHandsOver(b *testing.B) {
	s := syncx.NewSemaphore(1)
	const n = 8
	rt := start(b, sched.Config{Workers: 1})
	b.ReportAllocs()
	b.ResetTimer()
	handles := make([]*sched.JoinHandle[struct{}], n)
	for i := range handles {
		handles[i] = sched.Spawn(rt, sched.Future[struct{}](&convoy{s: s, acquire: s.AcquireFuture(1), left: share(b, i, n)}))
	}
	for _, h := range handles {
		if _, err := h.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// A convoy is a task that acquires, lets others run, and releases, so that there is always a
// waiter.
type convoy struct {
	s       *syncx.Semaphore
	acquire sched.Future[struct{}]
	yield   yielder
	has     bool
	left    int
}

func (c *convoy) Poll(cx *sched.Context) (struct{}, error) {
	for c.left > 0 {
		if !c.has {
			if _, err := c.acquire.Poll(cx); err != nil {
				return struct{}{}, err
			}
			c.has = true
		}
		if _, err := c.yield.Poll(cx); err != nil {
			return struct{}{}, err
		}
		c.has = false
		c.left--
		c.s.ReleaseFrom(cx, 1)
	}
	return struct{}{}, nil
}

func BenchmarkRWMutexUncontended(b *testing.B) {
	b.Run("sync", func(b *testing.B) {
		var rw sync.RWMutex
		for range b.N {
			rw.RLock()
			runtime.KeepAlive(&rw) // nothing: linters mind an empty critical section
			rw.RUnlock()
		}
	})
	b.Run("stackful", func(b *testing.B) {
		var rw syncx.RWMutex
		inTask(b, func(cx *sched.Context) error {
			for range b.N {
				if err := rw.RLock(cx); err != nil {
					return err
				}
				rw.RUnlockFrom(cx)
			}
			return nil
		})
	})
}

// One in ten writes.
func BenchmarkRWMutexContended(b *testing.B) {
	for _, n := range []int{8, 100} {
		b.Run(fmt.Sprintf("n=%d/sync", n), func(b *testing.B) {
			var rw sync.RWMutex
			inGoroutines(b, n, func(i int) {
				for k := range share(b, i, n) {
					if k%10 == 0 {
						rw.Lock()
						runtime.KeepAlive(&rw) // nothing: linters mind an empty critical section
						rw.Unlock()
					} else {
						rw.RLock()
						runtime.KeepAlive(&rw) // nothing: linters mind an empty critical section
						rw.RUnlock()
					}
				}
			})
		})
		b.Run(fmt.Sprintf("n=%d/stackful", n), func(b *testing.B) {
			var rw syncx.RWMutex
			inTasks(b, n, func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}] {
				k := 0
				return loop(rt, share(b, i, n), func(cx *sched.Context) (err error) {
					if k++; k%10 == 0 {
						if err = rw.Lock(cx); err == nil {
							rw.UnlockFrom(cx)
						}
					} else if err = rw.RLock(cx); err == nil {
						rw.RUnlockFrom(cx)
					}
					return err
				})
			})
		})
	}
}
