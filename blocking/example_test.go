package blocking_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

// A task reads a file without blocking its worker.
func ExampleDo() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	var pool blocking.Pool
	defer pool.Shutdown(context.Background())

	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		_, err := blocking.Do(cx, &pool, func() ([]byte, error) { return os.ReadFile("testdata/none") })
		return "no such file", err
	})
	_, err := h.Wait(context.Background())
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output: true
}

// Calls are started first and awaited later.
func ExampleSubmit() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	pool := blocking.New(blocking.Config{MaxThreads: 4})
	defer pool.Shutdown(context.Background())

	h := sched.Go(rt, func(cx *sched.Context) (sum int, err error) {
		var calls []*blocking.Handle[int]
		for i := range 4 {
			calls = append(calls, blocking.Submit(pool, func() (int, error) { return i * i, nil }))
		}
		for _, call := range calls {
			n, err := sched.Await(cx, call)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: 14 <nil>
}

// Calls that have not started when time is over are not made.
func ExamplePool_Shutdown() {
	pool := blocking.New(blocking.Config{MaxThreads: 1})
	started, release := make(chan struct{}), make(chan struct{})
	first := blocking.Submit(pool, func() (string, error) { close(started); <-release; return "first", nil })
	<-started
	second := blocking.Submit(pool, func() (string, error) { return "second", nil })

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(pool.Shutdown(ctx))
	close(release)
	fmt.Println(first.Wait(context.Background()))
	_, err := second.Wait(context.Background())
	fmt.Println(err)
	// Output:
	// blocking: 1 calls were still under way at shutdown, and 1 had not started: context canceled
	// first <nil>
	// blocking: pool closed: file already closed
}

// Blocking calls are tasks of a set, beside other tasks.
func ExampleSpawnIn() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	var pool blocking.Pool
	defer pool.Shutdown(context.Background())

	h := sched.Go(rt, func(cx *sched.Context) (sum int, err error) {
		var set sched.JoinSet[int]
		defer set.Close()
		for i := range 4 {
			blocking.SpawnIn(&set, cx, &pool, func() (int, error) { return i * i, nil })
		}
		results, err := sched.Await(cx, set.JoinAll())
		for _, r := range results {
			sum += r.Value
		}
		return sum, err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: 14 <nil>
}
