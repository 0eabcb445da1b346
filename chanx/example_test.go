//go:build !explore

package chanx_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func Example() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	tx, rx := chanx.NewBounded[int](8)
	sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		defer tx.Close()
		for i := range 100 {
			if err := tx.Send(cx, i); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	}).Detach()

	sum := sched.Go(rt, func(cx *sched.Context) (int, error) {
		sum := 0
		for v := range rx.All(cx) {
			sum += v
		}
		return sum, nil
	})
	fmt.Println(sum.Wait(context.Background()))
	// Output: 4950 <nil>
}

// Several senders have a handle each: the receiver ends when all are closed.
func ExampleNewBounded() {
	ctx := context.Background()
	tx, rx := chanx.NewBounded[string](1)
	for _, name := range []string{"a", "b", "c"} {
		mine := tx.Clone()
		go func() {
			defer mine.Close()
			_ = mine.Send(ctx, name)
		}()
	}
	tx.Close()
	n := 0
	for range rx.All(ctx) {
		n++
	}
	_, err := rx.TryRecv()
	fmt.Println(n, err)
	// Output: 3 chanx: closed
}

// An expensive value is made only when there is room for it.
func ExampleSender_Reserve() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	tx, rx := chanx.NewBounded[string](1)
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		permit, err := tx.Reserve(cx)
		if err != nil {
			return "", err
		}
		fmt.Println("full:", tx.TrySend("other") == chanx.ErrFull)
		if err := permit.Send(cx, "expensive"); err != nil {
			return "", err
		}
		return rx.Recv(cx)
	})
	fmt.Println(h.Wait(context.Background()))
	// Output:
	// full: true
	// expensive <nil>
}

// A loop waits for two channels and a timer. The losers of a Select have taken nothing, so the
// futures can be used again, and no value is missed.
func ExampleReceiver_RecvFuture() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	jobs, jobsRx := chanx.NewBounded[any](4)
	quit, quitRx := chanx.NewOneshot[any]()
	h := sched.Go(rt, func(cx *sched.Context) (n int, err error) {
		next, stop := jobsRx.RecvFuture(), quitRx.RecvFuture()
		for {
			sel, err := sched.Await(cx, sched.Select(next, stop, sched.Any(sched.Sleep(time.Hour))))
			switch {
			case err != nil:
				return n, err
			case sel.Index == 0 && sel.Err == nil:
				n++
			case sel.Index == 1: // values that were sent before are not lost
				for _, err := jobsRx.TryRecv(); err == nil; _, err = jobsRx.TryRecv() {
					n++
				}
				return n, nil
			}
		}
	})
	for i := range 10 {
		_ = jobs.Send(context.Background(), i)
	}
	_ = quit.Send(context.Background(), "now")
	fmt.Println(h.Wait(context.Background()))
	// Output: 10 <nil>
}

// A send must not wait for long. If it gives up, it has sent nothing.
func ExampleSender_SendFuture() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	tx, rx := chanx.NewBounded[string](1)
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		if err := tx.Send(cx, "first"); err != nil {
			return struct{}{}, err
		}
		_, err := sched.Await(cx, sched.Timeout(time.Millisecond, tx.SendFuture("second")))
		fmt.Println(errors.Is(err, context.DeadlineExceeded), rx.Len())
		return struct{}{}, nil
	})
	_, err := h.Wait(context.Background())
	fmt.Println(err)
	// Output:
	// true 1
	// <nil>
}

func ExampleNewUnbounded() {
	tx, rx := chanx.NewUnbounded[int]()
	for i := range 3 {
		_ = tx.Send(context.Background(), i)
	}
	tx.Close()
	for v := range rx.All(context.Background()) {
		fmt.Println(v)
	}
	fmt.Println(tx.Send(context.Background(), 4))
	// Output:
	// 0
	// 1
	// 2
	// chanx: closed
}

// A task answers another one.
func ExampleNewOneshot() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	answer, question := chanx.NewOneshot[int]()
	sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		defer answer.Close() // in case of a panic before Send
		return struct{}{}, answer.Send(cx, 42)
	}).Detach()
	fmt.Println(question.Recv(context.Background()))
	// Output: 42 <nil>
}

func ExampleNewBroadcast() {
	tx, slow := chanx.NewBroadcast[int](2)
	for i := range 3 {
		_, _ = tx.Send(context.Background(), i+1)
	}
	_, err := slow.TryRecv()
	var lagged chanx.LaggedError
	fmt.Println(errors.As(err, &lagged), lagged.Missed)
	fmt.Println(slow.TryRecv())
	fmt.Println(slow.TryRecv())
	// Output:
	// true 1
	// 2 <nil>
	// 3 <nil>
}

func ExampleNewWatch() {
	ctx := context.Background()
	tx, rx := chanx.NewWatch("starting")
	fmt.Println(rx.Value())
	_ = tx.Send(context.Background(), "running")
	_ = tx.Send(context.Background(), "stopping")
	fmt.Println(rx.Recv(ctx))
	tx.Close()
	_, err := rx.Recv(ctx)
	fmt.Println(err, rx.Value())
	// Output:
	// starting
	// stopping <nil>
	// chanx: closed stopping
}

// The work ends when nobody needs its result any more.
func ExampleOneshotSender_Closed() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	tx, rx := chanx.NewOneshot[int]()
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		work := sched.Sleep(time.Hour)
		first, err := sched.Await(cx, sched.Select(tx.ClosedFuture(), sched.Future[struct{}](work)))
		if first.Index == 0 {
			return "given up", err
		}
		return "done", tx.Send(cx, 1)
	})
	rx.Close()
	fmt.Println(h.Wait(context.Background()))
	// Output: given up <nil>
}

// A task waits until a service says that it is ready.
func ExampleWatchReceiver_WaitFor() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	tx, rx := chanx.NewWatch("starting")
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		return rx.WaitFor(cx, func(state string) bool { return state == "ready" })
	})
	tx.Send(context.Background(), "loading")
	tx.Send(context.Background(), "ready")
	fmt.Println(h.Wait(context.Background()))
	// Output: ready <nil>
}
