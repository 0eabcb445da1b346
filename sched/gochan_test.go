package sched_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestRecvGivesAValueThatIsThereAtOnceAndWaitsForOthers(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for _, size := range []int{0, 1} {
			ch := make(chan int, size)
			h := sched.Spawn(rt, sched.Recv(ch))
			eventually(t, "a helper receives", func() bool { return sched.Taps() == 1 })
			ch <- 1
			v, err := outcome(t, h)
			require.NoError(t, err)
			require.Equal(t, 1, v)
			require.Zero(t, sched.Taps())
		}
		there := make(chan int, 1)
		there <- 2
		v, err := do(t, rt, sched.Recv(there))
		require.NoError(t, err)
		require.Equal(t, 2, v)
	})
}

func TestRecvFromAClosedChannelFailsOnceItIsDrained(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		ch := make(chan int, 1)
		ch <- 1
		close(ch)
		v, err := do(t, rt, sched.Recv(ch))
		require.NoError(t, err)
		require.Equal(t, 1, v)
		_, err = do(t, rt, sched.Recv(ch))
		require.ErrorIs(t, err, sched.ErrChanClosed)
		require.ErrorIs(t, err, os.ErrClosed)

		waited := make(chan int)
		var hs []*sched.JoinHandle[int]
		for range 3 {
			hs = append(hs, sched.Spawn(rt, sched.Recv(waited)))
		}
		eventually(t, "they wait", func() bool { return sched.TapWaiters(waited) == 3 })
		close(waited)
		for _, h := range hs {
			_, err = outcome(t, h)
			require.ErrorIs(t, err, sched.ErrChanClosed)
		}
		require.Zero(t, sched.Taps())
	})
}

func TestRecvFromANilChannelIsNeverDone(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var none chan int
	_, err := do(t, rt, sched.Timeout(time.Millisecond, sched.Recv(none)))
	require.ErrorIs(t, err, sched.ErrTimeout)
}

func TestSeveralThatWaitOnOneChannelHaveOneHelperAndAValueEach(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		const tasks = 20
		ch := make(chan int)
		before := runtime.NumGoroutine()
		var set sched.JoinSet[int]
		for range tasks {
			set.Spawn(rt, sched.Recv(ch))
		}
		eventually(t, "they wait", func() bool { return sched.TapWaiters(ch) == tasks })
		hasFewGoroutines(t, before+tasks/2)
		for i := range tasks {
			ch <- i
		}
		seen := map[int]bool{}
		for range tasks {
			v, err := do(t, rt, set.JoinNext())
			require.NoError(t, err)
			require.False(t, seen[v])
			seen[v] = true
		}
		require.Zero(t, sched.Taps())
	})
}

func TestTheHelperOfARecvThatWasDroppedEnds(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ch := make(chan int)
	h := sched.Spawn(rt, sched.Recv(ch))
	eventually(t, "it waits", func() bool { return sched.TapWaiters(ch) == 1 })
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	eventually(t, "the helper ends", func() bool { return sched.Taps() == 0 })
	select {
	case ch <- 1:
		t.Fatal("somebody receives still")
	default:
	}
}

// Each round drops a Recv at about the time at which its value arrives.
func TestDroppingRecvLosesNoValueAndKeepsTheirOrder(t *testing.T) {
	for _, size := range []int{0, 1, 8} {
		onEach(t, func(t *testing.T, rt *sched.Runtime) {
			n := rounds(2000)
			ch := make(chan int, size)
			go func() {
				defer close(ch)
				for i := range n {
					ch <- i
					if i%3 == 0 {
						runtime.Gosched()
					}
				}
			}()
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				got := 0
				for {
					first, err := sched.Await(cx, sched.Select(sched.Any(sched.Recv(ch)), sched.Any(sched.Yield())))
					switch {
					case err != nil:
						return got, err
					case first.Index == 1:
						continue
					case first.Err != nil:
						return got, nil
					}
					must(first.Value.(int) == got, "value %v after %d others", first.Value, got)
					got++
				}
			})
			got, err := outcome(t, h)
			require.NoError(t, err)
			require.Equal(t, n, got)
			require.Zero(t, sched.Taps())
		})
	}
}

// A value that was received for a dropped Recv is no longer in the channel.
func TestAValueThatWasKeptIsTheNextRecvsAndGoesWithItsChannel(t *testing.T) {
	keep := func(rt *sched.Runtime, ch chan *int, v *int) {
		// The waiter is woken but never polls: it is abandoned, and a value has been received for
		// it.
		polled := make(chan struct{})
		f := sched.Recv(ch)
		drop := make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			_, err := f.Poll(cx)
			must(err == sched.ErrPending, "%v", err)
			close(polled)
			<-drop // blocks the worker, so the waiter does not see the wake-up
			f.(sched.Canceler).Cancel()
			return struct{}{}, nil
		})
		receive(t, "it waits", polled)
		ch <- v
		eventually(t, "the value is received", func() bool { return sched.TapHas(ch) })
		close(drop)
		_, err := outcome(t, h)
		require.NoError(t, err)
	}
	rt := start(t, sched.Config{Workers: 2})
	ch := make(chan *int)
	keep(rt, ch, new(int))
	require.Equal(t, 1, sched.Taps())
	go func() { ch <- new(7) }()
	for _, want := range []int{0, 7} { // the kept value is the older one
		v, err := do(t, rt, sched.Recv(ch))
		require.NoError(t, err)
		require.Equal(t, want, *v)
	}
	require.Zero(t, sched.Taps())

	func() { keep(rt, make(chan *int), new(int)) }()
	eventually(t, "what nobody can receive is forgotten", func() bool { runtime.GC(); return sched.Taps() == 0 })
}

func TestAGoroutineReceivesWithRecvToo(t *testing.T) {
	ch := make(chan string)
	go func() { ch <- "hello" }()
	v, err := sched.Await(context.Background(), sched.Recv(ch))
	require.NoError(t, err)
	require.Equal(t, "hello", v)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = sched.Await(ctx, sched.Recv(ch))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	eventually(t, "the helper ends", func() bool { return sched.Taps() == 0 })
}

func BenchmarkRecv(b *testing.B) {
	rt := start(b, sched.Config{Workers: 1})
	for _, bench := range []struct {
		name string
		size int
	}{{"waiting", 0}, {"there", 1024}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			ch := make(chan int, bench.size)
			go func() {
				defer close(ch)
				for i := range b.N {
					ch <- i
				}
			}()
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				for {
					if _, err := sched.Await(cx, sched.Recv(ch)); err != nil {
						return 0, nil
					}
				}
			})
			_, _ = h.Wait(context.Background())
		})
	}
}

func TestAValueOfADroppedRecvIsForTheNextThatWaits(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	ch := make(chan int)
	polled, drop := make(chan struct{}), make(chan struct{})
	first := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		f := sched.Recv(ch)
		_, err := f.Poll(cx)
		must(err == sched.ErrPending, "%v", err)
		close(polled)
		<-drop
		f.(sched.Canceler).Cancel()
		return struct{}{}, nil
	})
	receive(t, "it waits", polled)
	second := sched.Spawn(rt, sched.Recv(ch))
	eventually(t, "both wait", func() bool { return sched.TapWaiters(ch) == 2 })
	ch <- 5
	eventually(t, "the value is received", func() bool { return sched.TapHas(ch) })
	require.False(t, second.Done())
	close(drop)
	_, err := outcome(t, first)
	require.NoError(t, err)
	v, err := outcome(t, second)
	require.NoError(t, err)
	require.Equal(t, 5, v)
}
