package syncx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// Tasks and goroutines share a counter.
func ExampleMutex() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	var mu syncx.Mutex
	count := 0
	var tasks sched.JoinSet[struct{}]
	for range 10 {
		tasks.Go(rt, func(cx *sched.Context) (struct{}, error) {
			if err := mu.Lock(cx); err != nil {
				return struct{}{}, err
			}
			defer mu.Unlock()
			count++
			return sched.Await(cx, sched.Yield()) // with the lock held
		})
	}
	if err := mu.Lock(context.Background()); err == nil {
		count++
		mu.Unlock()
	}
	for range 10 {
		_, _ = sched.Await(context.Background(), tasks.JoinNext())
	}
	fmt.Println(count)
	// Output: 11
}

// A stackless task keeps one future, and waits with it again and again.
func ExampleMutex_LockFuture() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	var mu syncx.Mutex
	lock, left := mu.LockFuture(), 3
	h := sched.Spawn(rt, sched.FutureFunc[string](func(cx *sched.Context) (string, error) {
		for ; left > 0; left-- {
			if _, err := lock.Poll(cx); err != nil {
				return "", err // ErrPending: polled again when the lock is ours
			}
			mu.Unlock()
		}
		return "three times", nil
	}))
	fmt.Println(h.Wait(context.Background()))
	// Output: three times <nil>
}

// A lock is not available in time.
func ExampleMutex_timeout() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	var mu syncx.Mutex
	mu.TryLock()
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		return sched.Await(cx, sched.Timeout(time.Millisecond, mu.LockFuture()))
	})
	_, err := h.Wait(context.Background())
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// At most two downloads at a time; a large one counts as two.
func ExampleSemaphore() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	slots := syncx.NewSemaphore(2)
	download := func(cx *sched.Context, size int) (int, error) {
		if err := slots.Acquire(cx, size); err != nil {
			return 0, err
		}
		defer slots.Release(size)
		_, err := sched.Await(cx, sched.Sleep(time.Millisecond))
		return size, err
	}
	var downloads sched.JoinSet[int]
	for _, size := range []int{1, 2, 1, 1, 2} {
		downloads.Go(rt, func(cx *sched.Context) (int, error) { return download(cx, size) })
	}
	sum := 0
	for range 5 {
		size, _ := sched.Await(context.Background(), downloads.JoinNext())
		sum += size
	}
	fmt.Println(sum, slots.Available())
	// Output: 7 2
}

func ExampleRWMutex() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	var rw syncx.RWMutex
	config := map[string]int{"limit": 1}
	set := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		if err := rw.Lock(cx); err != nil {
			return struct{}{}, err
		}
		defer rw.Unlock()
		config["limit"] = 2
		return struct{}{}, nil
	})
	_, _ = set.Wait(context.Background())
	get := sched.Go(rt, func(cx *sched.Context) (int, error) {
		if err := rw.RLock(cx); err != nil {
			return 0, err
		}
		defer rw.RUnlock()
		return config["limit"], nil
	})
	fmt.Println(get.Wait(context.Background()))
	// Output: 2 <nil>
}

// A queue whose consumer sleeps while it is empty.
func ExampleNotify() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	var (
		mu    sync.Mutex // held for a moment only: no task waits under it
		queue []string
		more  syncx.Notify
	)
	pop := func() (v string, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(queue) == 0 {
			return "", false
		}
		v, queue = queue[0], queue[1:]
		return v, true
	}
	consumer := sched.Go(rt, func(cx *sched.Context) (string, error) {
		for {
			if v, ok := pop(); ok {
				return v, nil
			}
			if err := more.Wait(cx); err != nil { // a notification since pop is stored
				return "", err
			}
		}
	})
	mu.Lock()
	queue = append(queue, "a letter")
	mu.Unlock()
	more.NotifyOne()
	fmt.Println(consumer.Wait(context.Background()))
	// Output: a letter <nil>
}

// Three tasks work in rounds; the leader of each round announces its end.
func ExampleBarrier() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	round := syncx.NewBarrier(3)
	var tasks sched.JoinSet[struct{}]
	for range 3 {
		tasks.Go(rt, func(cx *sched.Context) (struct{}, error) {
			for i := range 2 {
				leader, err := round.Wait(cx)
				if err != nil {
					return struct{}{}, err
				}
				if leader {
					fmt.Println("round", i+1)
				}
				if _, err := round.Wait(cx); err != nil { // nobody is ahead of the line above
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		})
	}
	for range 3 {
		_, _ = sched.Await(context.Background(), tasks.JoinNext())
	}
	// Output:
	// round 1
	// round 2
}

// A connection is made when a task first needs it. If that fails, the next task tries.
func ExampleOnceCell() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	var cell syncx.OnceCell[string]
	attempts := 0
	connect := func(context.Context) (string, error) {
		if attempts++; attempts == 1 {
			return "", errors.New("nobody answers")
		}
		return "connected", nil
	}
	for range 3 {
		h := sched.Go(rt, func(cx *sched.Context) (string, error) { return cell.GetOrInit(cx, connect) })
		fmt.Println(h.Wait(context.Background()))
	}
	fmt.Println(attempts)
	// Output:
	//  nobody answers
	// connected <nil>
	// connected <nil>
	// 2
}

// A writer goes on as a reader: no other writer comes between.
func ExampleRWMutex_Downgrade() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	var rw syncx.RWMutex
	version := 0
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		if err := rw.Lock(cx); err != nil {
			return 0, err
		}
		version++
		rw.Downgrade()
		defer rw.RUnlock()
		_, err := sched.Await(cx, sched.Yield()) // others read meanwhile
		return version, err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: 1 <nil>
}
