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

// Lock and unlock without contention: the cost per pair. Compare with /sync.
func BenchmarkMutexUncontended(b *testing.B) {
	b.Run("sync", func(b *testing.B) {
		var mu sync.Mutex
		for range b.N {
			mu.Lock()
			runtime.KeepAlive(&mu) // nothing: linters mind an empty critical section
			mu.Unlock()
		}
	})
	b.Run("try", func(b *testing.B) {
		var mu syncx.Mutex
		for range b.N {
			if mu.TryLock() {
				mu.Unlock()
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		var mu syncx.Mutex
		ctx := context.Background()
		for range b.N {
			if mu.Lock(ctx) == nil {
				mu.Unlock()
			}
		}
	})
	b.Run("stackful", func(b *testing.B) {
		var mu syncx.Mutex
		inTask(b, func(cx *sched.Context) error {
			for range b.N {
				if err := mu.Lock(cx); err != nil {
					return err
				}
				mu.UnlockFrom(cx)
			}
			return nil
		})
	})
	b.Run("stackless", func(b *testing.B) {
		var mu syncx.Mutex
		inPolls(b, &locker{lock: mu.LockFuture(), mu: &mu, left: b.N, work: func() {}})
	})
}

// inTask runs a function as a stackful task.
func inTask(b *testing.B, f func(cx *sched.Context) error) {
	b.Helper()
	rt := start(b, sched.Config{Workers: 1})
	b.ReportAllocs()
	b.ResetTimer()
	_, err := sched.Go(rt, func(cx *sched.Context) (struct{}, error) { return struct{}{}, f(cx) }).Wait(context.Background())
	if err != nil {
		b.Fatal(err)
	}
}

// inPolls runs a future as a stackless task.
func inPolls(b *testing.B, f sched.Future[struct{}]) {
	b.Helper()
	rt := start(b, sched.Config{Workers: 1})
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := sched.Spawn(rt, f).Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// A locker is a stackless task that locks, works and unlocks a number of times.
type locker struct {
	lock sched.Future[struct{}]
	mu   *syncx.Mutex
	left int
	work func()
}

func (l *locker) Poll(cx *sched.Context) (struct{}, error) {
	for ; l.left > 0; l.left-- {
		if _, err := l.lock.Poll(cx); err != nil {
			return struct{}{}, err
		}
		l.work()
		l.mu.UnlockFrom(cx)
	}
	return struct{}{}, nil
}

// Tasks, or goroutines, only take one lock, work under it and free it: the cost per locking.
func BenchmarkMutexContended(b *testing.B) {
	for _, work := range []int{1, 10, 50} {
		for _, n := range []int{2, 8, 100} {
			b.Run(fmt.Sprintf("work=%d/n=%d", work, n), func(b *testing.B) { contended(b, work, n) })
		}
	}
}

func contended(b *testing.B, work, n int) {
	sum := 0
	do := func() {
		for range work {
			sum++
		}
	}
	b.Run("sync", func(b *testing.B) {
		var mu sync.Mutex
		inGoroutines(b, n, func(i int) {
			for range share(b, i, n) {
				mu.Lock()
				do()
				mu.Unlock()
			}
		})
	})
	b.Run("stackless", func(b *testing.B) {
		var mu syncx.Mutex
		inTasks(b, n, func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}] {
			return sched.Spawn(rt, sched.Future[struct{}](&locker{lock: mu.LockFuture(), mu: &mu, left: share(b, i, n), work: do}))
		})
	})
	b.Run("stackful", func(b *testing.B) {
		var mu syncx.Mutex
		inTasks(b, n, func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}] {
			return loop(rt, share(b, i, n), func(cx *sched.Context) error {
				if err := mu.Lock(cx); err != nil {
					return err
				}
				do()
				mu.UnlockFrom(cx)
				return nil
			})
		})
	})
}

// inTasks runs n tasks on two workers.
func inTasks(b *testing.B, n int, spawn func(rt *sched.Runtime, i int) *sched.JoinHandle[struct{}]) {
	b.Helper()
	rt := start(b, sched.Config{Workers: 2})
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
