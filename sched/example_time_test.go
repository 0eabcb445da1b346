package sched_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// With a virtual clock, an hour's sleep takes no time: for tests.
func ExampleConfig_paused() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()

	h := sched.Go(rt, func(cx *sched.Context) (time.Duration, error) {
		_, err := sched.Await(cx, sched.Sleep(time.Hour))
		return rt.Now(), err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: 1h0m0s <nil>
}

// An idle limit: each event postpones the end of the sleep.
func ExampleSleepFuture_Reset() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()

	h := sched.Go(rt, func(cx *sched.Context) (time.Duration, error) {
		idle := sched.Sleep(10 * time.Second)
		for _, pause := range []time.Duration{3 * time.Second, 4 * time.Second} {
			first, err := sched.Await(cx, sched.Select[struct{}](idle, sched.Sleep(pause)))
			if err != nil || first.Index == 0 {
				return rt.Now(), err
			}
			idle.Reset(10 * time.Second)
		}
		_, err := sched.Await(cx, idle)
		return rt.Now(), err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: 17s <nil>
}

func ExampleTimeout_paused() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()

	_, err := sched.Spawn(rt, sched.Timeout(time.Second, sched.Sleep(time.Minute))).Wait(context.Background())
	fmt.Println(err, errors.Is(err, os.ErrDeadlineExceeded))
	// Output: sched: timed out true
}

func ExampleInterval() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()

	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		every := sched.NewInterval(300 * time.Millisecond).OnMissed(sched.Skip)
		for i := range 4 {
			tick, err := every.Tick(cx)
			if err != nil {
				return struct{}{}, err
			}
			fmt.Println("tick of", tick, "at", rt.Now())
			if i == 0 {
				sched.Await(cx, sched.Sleep(650*time.Millisecond)) // busy for too long
			}
		}
		return struct{}{}, nil
	})
	h.Wait(context.Background())
	// Output:
	// tick of 0s at 0s
	// tick of 300ms at 650ms
	// tick of 900ms at 900ms
	// tick of 1.2s at 1.2s
}

// Cache entries expire unless they are used.
func ExampleDelayQueue() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()

	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		q := sched.NewDelayQueue[string](rt)
		a := q.Insert("a", 10*time.Second)
		q.Insert("b", 20*time.Second)
		c := q.Insert("c", 30*time.Second)
		q.Reset(a, 40*time.Second)
		q.Remove(c)
		for q.Len() > 0 {
			e, err := q.Next(cx)
			if err != nil {
				return struct{}{}, err
			}
			fmt.Println(e.Value, "expired at", rt.Now())
		}
		return struct{}{}, nil
	})
	h.Wait(context.Background())
	// Output:
	// b expired at 20s
	// a expired at 40s
}

// A lease that is not renewed in time is revoked.
func ExampleRuntime_AfterFunc() {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()
	rt.HoldClock() // this goroutine is not a task of the runtime
	expired := make(chan time.Duration)
	lease := rt.AfterFunc(time.Minute, func() { expired <- rt.Now() })
	fmt.Println(lease.Reset(time.Hour)) // renewed
	rt.ReleaseClock()
	fmt.Println(<-expired)
	fmt.Println(lease.Stop()) // too late
	// Output:
	// true
	// 1h0m0s
	// false
}
