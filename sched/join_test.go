package sched_test

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestDetachBeforeAndAfterTheEndReleases(t *testing.T) {
	for _, ended := range []bool{false, true} {
		rt := start(t, sched.Config{Workers: 1})
		var released atomic.Int64
		p := new(probe[lease])
		h := sched.Spawn(rt, p)
		if ended {
			p.finish(lease{&released}, nil)
			eventually(t, "the task ends", h.Done)
		}
		h.Detach()
		h.Detach()
		p.finish(lease{&released}, nil)
		eventually(t, "the result is released", func() bool { return released.Load() == 1 })
		require.True(t, h.Done())
		h.Abort()
		_, err := outcome(t, h)
		require.Equal(t, sched.ErrDetached, err)
	}
}

func TestAResultThatWasTakenIsNotReleased(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var released atomic.Int64
	h := sched.Spawn(rt, ready(lease{&released}, nil))
	_, err := outcome(t, h)
	require.NoError(t, err)
	h.Detach()
	failed := sched.Spawn(rt, ready(lease{&released}, io.EOF))
	failed.Detach()
	eventually(t, "it ends", failed.Done)
	pass(t, rt, 0)
	require.Zero(t, released.Load(), "nor is what an error leaves")
}

func TestAResultStaysInItsHandle(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	h := sched.Spawn(rt, ready(9, io.EOF))
	for range 3 {
		v, err := outcome(t, h)
		require.Equal(t, io.EOF, err)
		require.Equal(t, 9, v)
		require.True(t, h.Done())
		h.Abort()
	}
}

func TestTasksAndGoroutinesMayWaitForTheSameTask(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		p := new(probe[int])
		h := sched.Spawn(rt, p)
		got := make(chan int, 30)
		var waiting sync.WaitGroup
		for range 10 {
			waiting.Go(func() {
				v, _ := h.Wait(context.Background())
				got <- v
			})
			a := sched.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await(cx, sched.Future[int](h)) })
			b := sched.Spawn(rt, sched.Future[int](h))
			waiting.Go(func() { v, _ := a.Wait(context.Background()); got <- v })
			waiting.Go(func() { v, _ := b.Wait(context.Background()); got <- v })
		}
		p.finish(4, nil)
		awaitAll(t, &waiting)
		for range cap(got) {
			require.Equal(t, 4, <-got)
		}
	})
}

func TestATaskMayWaitForOneOfAnotherRuntime(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		other := start(t, sched.Config{Workers: 1})
		p, closed := new(probe[int]), new(probe[int])
		h, never := sched.Spawn(other, p), sched.Spawn(other, closed)
		waits := sched.Spawn(rt, sched.Future[int](h))
		fails := sched.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await(cx, sched.Future[int](never)) })
		p.polled(t)
		closed.polled(t)
		p.finish(6, nil)
		v, err := outcome(t, waits)
		require.NoError(t, err)
		require.Equal(t, 6, v)

		require.NoError(t, shut(t, other))
		_, err = outcome(t, fails)
		require.Equal(t, sched.ErrClosed, err)
		require.EqualValues(t, 1, closed.cancels.Load())
		_, err = do(t, rt, sched.Future[int](never))
		require.Equal(t, sched.ErrClosed, err)
		require.True(t, never.Done())
		never.Abort()
		never.Detach()
	})
}

func TestAWaitThatItsContextEndedLeavesTheTaskAndItsOtherWaiters(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	p := new(probe[int])
	h := sched.Spawn(rt, p)
	other := sched.Spawn(rt, sched.Future[int](h))
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error, 1)
		go func() {
			_, err := h.Wait(ctx)
			failed <- err
		}()
		cancel()
		require.ErrorIs(t, receive(t, "Wait returns", failed), context.Canceled)
	}
	p.finish(1, nil)
	for _, h := range []*sched.JoinHandle[int]{h, other} {
		v, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, 1, v)
	}
}

// A turn is a task that expects to be polled twice: at its start, and in its turn.
type turn struct {
	due    bool
	stale  int
	waker  sched.Waker
	driver sched.Waker
}

func (f *turn) Poll(cx *sched.Context) (int, error) {
	switch {
	case f.waker == sched.Waker{}:
		f.waker = cx.Waker()
		cx.Wake(f.driver)
	case f.due:
		return f.stale, nil
	default:
		f.stale++
	}
	return 0, sched.ErrPending
}

// A waker compares 16 bits of the generation in the state word. So the test keeps the
// wakers of as many earlier tasks, and one of these has the same bits.
func TestNoStaleWakerPollsTheTaskThatHasItsMemory(t *testing.T) {
	const kept = 1 << 16
	tasks := 4 * kept
	if slow || testing.Short() {
		tasks = kept + kept/2
	}
	rt := start(t, sched.Config{Workers: 1})
	var mu sync.Mutex
	wakers := make([]sched.Waker, kept)
	stop := make(chan struct{})
	var others sync.WaitGroup
	t.Cleanup(others.Wait)
	t.Cleanup(func() { close(stop) }) // before that wait
	others.Go(func() {                // concurrently with everything else
		for {
			mu.Lock()
			w := wakers[rand.IntN(kept)]
			mu.Unlock()
			w.Wake()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	memories := map[unsafe.Pointer]int{}
	h := sched.Go(rt, func(cx *sched.Context) (stale int, err error) {
		for i := range tasks {
			f := &turn{driver: cx.Waker()}
			h := sched.Spawn(cx, sched.Future[int](f))
			_, err := sched.Await(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) {
				if f.waker == (sched.Waker{}) {
					return 0, sched.ErrPending
				}
				return 0, nil
			}))
			if err != nil {
				return stale, err
			}
			memories[f.waker.Memory()]++
			mu.Lock()
			same := wakers[i%kept]
			mu.Unlock()
			cx.Wake(same)
			same.Wake()
			if i%16 == 0 { // lets all woken tasks run
				_, _ = sched.Await(cx, sched.Yield())
			}
			f.due = true
			cx.Wake(f.waker)
			n, err := sched.Await(cx, sched.Future[int](h))
			if err != nil {
				return stale, err
			}
			stale += n
			mu.Lock()
			wakers[i%kept] = f.waker
			mu.Unlock()
		}
		return stale, nil
	})
	stale, err := outcome(t, h)
	require.NoError(t, err)
	require.Zero(t, stale)
	require.Len(t, memories, 1, "every task has had the same memory")
}
