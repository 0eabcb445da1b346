//go:build !explore

package chanx_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// allocations is the number of allocations in f, not counting a few that are unrelated to the
// repeated operations.
func allocations(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// fewPer fails if f, which repeats an operation so many times, allocates more than once per ten
// times. Garbage collections that empty the pools of each processor cause fewer allocations, and
// so does Go when it runs goroutines elsewhere. An allocation for each wait would be more.
func fewPer(t *testing.T, times int, f func()) {
	t.Helper()
	if slow {
		t.Skip("the race detector has sync.Pool drop things")
	}
	f() // fills the pools
	if n := allocations(f); n > uint64(times/10) {
		t.Fatalf("%d allocations in %d times", n, times)
	}
}

func TestSendingAndReceivingWithoutWaitingAllocatesNothing(t *testing.T) {
	bounded, boundedRx := chanx.NewBounded[int](4)
	unbounded, unboundedRx := chanx.NewUnbounded[int]()
	broadcast, broadcastRx := chanx.NewBroadcast[int](4)
	watch, watchRx := chanx.NewWatch(0)
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		for i := range 100 {
			_ = bounded.Send(ctx, i)
			_, _ = boundedRx.Recv(ctx)
			p, _ := bounded.TryReserve()
			_ = p.Send(context.Background(), i)
			_, _ = boundedRx.TryRecv()
			_ = unbounded.Send(context.Background(), i)
			_, _ = unboundedRx.TryRecv()
			_, _ = broadcast.Send(context.Background(), i)
			_, _ = broadcastRx.TryRecv()
			_ = watch.Send(context.Background(), i)
			_, _ = watchRx.TryRecv()
		}
	}))
}

// Two parties play ping-pong, so that each receive has to wait. With a capacity of 1 that is
// filled first, each send has to wait, too.
func TestWaitingAllocatesNothing(t *testing.T) {
	const times = 5000
	onEach(t, func(t *testing.T, c *crew) {
		there, thereRx := chanx.NewBounded[int](1)
		back, backRx := chanx.NewBounded[int](1)
		fewPer(t, times, func() {
			allDone(t, []*job{
				c.do(func(ctx context.Context) error {
					for i := range times {
						if err := there.Send(ctx, i); err != nil {
							return err
						}
						if _, err := backRx.Recv(ctx); err != nil {
							return err
						}
					}
					return nil
				}),
				c.do(func(ctx context.Context) error {
					for range times {
						v, err := thereRx.Recv(ctx)
						if err != nil {
							return err
						}
						if err := back.Send(ctx, v); err != nil {
							return err
						}
					}
					return nil
				}),
			})
		})
		fewPer(t, times, func() { // a stream, in which senders wait
			allDone(t, []*job{
				c.do(func(ctx context.Context) error {
					for i := range times {
						if err := there.Send(ctx, i); err != nil {
							return err
						}
					}
					return nil
				}),
				c.do(func(ctx context.Context) error {
					for range times {
						if _, err := thereRx.Recv(ctx); err != nil {
							return err
						}
					}
					return nil
				}),
			})
		})
	})
}

func TestWaitingForTheOtherKindsOfChannelAllocatesNothing(t *testing.T) {
	const times = 5000
	onEach(t, func(t *testing.T, c *crew) {
		unbounded, unboundedRx := chanx.NewUnbounded[int]()
		broadcast, broadcastRx := chanx.NewBroadcast[int](4)
		watch, watchRx := chanx.NewWatch(-1)
		v := 0
		fewPer(t, times, func() {
			allDone(t, []*job{
				c.do(func(ctx context.Context) error {
					for range times {
						v++
						if err := unbounded.Send(ctx, v); err != nil {
							return err
						}
						if _, err := broadcastRx.Recv(ctx); err != nil {
							return err
						}
						if _, err := watchRx.Recv(ctx); err != nil {
							return err
						}
					}
					return nil
				}),
				c.do(func(ctx context.Context) error {
					for range times {
						v, err := unboundedRx.Recv(ctx)
						if err != nil {
							return err
						}
						if _, err := broadcast.Send(ctx, v); err != nil {
							return err
						}
						if err := watch.Send(ctx, v); err != nil {
							return err
						}
					}
					return nil
				}),
			})
		})
	})
}

// A future that receives is used again, in a stackless task.
func TestAFutureThatIsKeptAllocatesNothing(t *testing.T) {
	rt := start(t, 1)
	const times = 100_000
	fewPer(t, times, func() {
		tx, rx := chanx.NewBounded[int](2)
		var wg sync.WaitGroup
		wg.Add(1)
		sched.Spawn(rt, sched.Future[struct{}](&consumer{f: rx.RecvFuture(), done: &wg})).Detach()
		sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			defer tx.Close()
			for v := range times {
				if err := tx.Send(cx, v); err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		}).Detach()
		wg.Wait()
	})
}

func TestAOneshotIsOneAllocation(t *testing.T) {
	ctx := context.Background()
	require.EqualValues(t, 1, testing.AllocsPerRun(1000, func() {
		tx, rx := chanx.NewOneshot[int]()
		_ = tx.Send(context.Background(), 1)
		_, _ = rx.Recv(ctx)
	}))
}

func TestReservingAndAClosedChannelsEndAllocateNothing(t *testing.T) {
	if slow {
		t.Skip("the race detector has sync.Pool drop things")
	}
	tx, rx := chanx.NewBounded[int](4)
	gone, goneRx := chanx.NewBounded[int](1)
	goneRx.Close()
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		p, _ := tx.Reserve(ctx)
		_ = p.Send(context.Background(), 1)
		_, _ = rx.TryRecv()
		_ = gone.Closed(ctx)
	}))
}
