package sched_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// JoinAll gives each result, errors included.
func ExampleJoinAll() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	down := errors.New("down")
	ask := func(host string, err error) sched.Future[string] {
		return sched.FutureFunc[string](func(*sched.Context) (string, error) { return host, err })
	}
	h := sched.Spawn(rt, sched.JoinAll(ask("a", nil), ask("b", down), ask("c", nil)))
	results, _ := h.Wait(context.Background())
	for _, r := range results {
		fmt.Println(r.Value, r.Err)
	}
	// Output:
	// a <nil>
	// b down
	// c <nil>
}

// A biased Select polls the shutdown signal first, so it never misses the signal.
func ExampleSelectBiased() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	stop := sched.NewCancellationToken()
	stop.Cancel()
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		always := sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) { return struct{}{}, nil })
		first, err := sched.Await(cx, sched.SelectBiased(stop.Canceled(), sched.Future[struct{}](always)))
		if first.Index == 0 {
			return "stopped", err
		}
		return "worked", err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: stopped <nil>
}

// A loop does other work, and takes results when they are available.
func ExampleJoinSet_TryJoinNext() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		var set sched.JoinSet[int]
		defer set.Close()
		for n := range 3 {
			set.Go(cx, func(cx *sched.Context) (int, error) { return n, nil })
		}
		sum := 0
		for set.Len() > 0 {
			for r, ok := set.TryJoinNext(); ok; r, ok = set.TryJoinNext() {
				sum += r.Value
			}
			if _, err := sched.Await(cx, sched.Yield()); err != nil { // other work
				return sum, err
			}
		}
		return sum, nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: 3 <nil>
}

// JoinAll of a set returns the results in the order in which the tasks end.
func ExampleJoinSet_JoinAll() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) ([]sched.Result[string], error) {
		var set sched.JoinSet[string]
		defer set.Close()
		for name, d := range map[string]time.Duration{"slow": time.Hour, "quick": time.Second} {
			set.Go(cx, func(cx *sched.Context) (string, error) {
				_, err := sched.Await(cx, sched.Sleep(d))
				return name, err
			})
		}
		return sched.Await(cx, set.JoinAll())
	})
	results, _ := h.Wait(context.Background())
	for _, r := range results {
		fmt.Println(r.Value, r.Err)
	}
	// Output:
	// quick <nil>
	// slow <nil>
}

// Peek returns the key of the value that expires next, without taking it.
func ExampleDelayQueue_Peek() {
	rt := sched.New(sched.Config{Paused: true})
	defer rt.Close()
	leases := sched.NewDelayQueue[string](rt)
	leases.Insert("b", 20*time.Second)
	leases.Insert("a", 10*time.Second)
	key, ok := leases.Peek()
	at, _ := leases.Deadline(key)
	fmt.Println(ok, at, leases.Len())
	// Output: true 10s 2
}

func ExampleSleepFuture_IsElapsed() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (bool, error) {
		nap := sched.Sleep(time.Second)
		_, err := sched.Await(cx, nap)
		return nap.IsElapsed(), err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: true <nil>
}
