package sched_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

var errStop = errors.New("stop")

// A wait with a derived context ends with that context, by its error and its cause, and gives up
// its place. The task goes on.
func TestTheEndOfADerivedContextEndsAWait(t *testing.T) {
	for name, derive := range map[string]struct {
		by    func(cx *sched.Context) (ctx context.Context, end func())
		match []error
	}{
		"cancel": {func(cx *sched.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(cx)
			return ctx, cancel
		}, []error{context.Canceled}},
		"a cause": {func(cx *sched.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(cx)
			return ctx, func() { cancel(errStop) }
		}, []error{context.Canceled, errStop}},
		"a deadline": {func(cx *sched.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(cx, time.Millisecond)
			context.AfterFunc(cx, cancel)
			return ctx, func() {}
		}, []error{context.DeadlineExceeded}},
		"a deadline with a cause": {func(cx *sched.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(cx, time.Millisecond, errStop)
			context.AfterFunc(cx, cancel)
			return context.WithValue(ctx, contextKey{}, 1), func() {}
		}, []error{context.DeadlineExceeded, errStop}},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				p := new(probe[int])
				ends := make(chan func(), 1)
				h := sched.Go(rt, func(cx *sched.Context) (int, error) {
					ctx, end := derive.by(cx)
					ends <- end
					_, err := sched.Await[int](ctx, p)
					for _, target := range derive.match {
						must(errors.Is(err, target), "%v is not %v", err, target)
					}
					must(cx.Err() == nil, "the task has ended")
					return await(cx, sched.Go(cx, func(*sched.Context) (int, error) { return 7, nil })), nil
				})
				end := receive(t, "the task waits", ends)
				p.polled(t)
				end()
				v, err := outcome(t, h)
				require.NoError(t, err)
				require.Equal(t, 7, v)
				require.EqualValues(t, 1, p.cancels.Load())
			})
		})
	}
}

func TestAResultWinsAgainstTheEndOfItsContext(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		ctx, cancel := context.WithCancel(cx)
		cancel()
		v, err := sched.Await(ctx, ready(3, nil))
		must(v == 3 && err == nil, "%d, %v", v, err)
		_, err = sched.Await(ctx, sched.Sleep(time.Hour))
		must(err == context.Canceled, "%v", err)
		_, err = sched.Await(context.WithoutCancel(ctx), sched.Yield())
		must(err == nil, "a context without an end: %v", err)
		return 0, nil
	}))
	require.NoError(t, err)
}

func TestAnAbortEndsAWaitInADerivedContext(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for _, derive := range []func(ctx context.Context) context.Context{
			func(ctx context.Context) context.Context { return context.WithValue(ctx, contextKey{}, 1) },
			context.WithoutCancel,
			func(ctx context.Context) context.Context {
				child, cancel := context.WithTimeout(ctx, time.Hour)
				context.AfterFunc(ctx, cancel)
				return child
			},
		} {
			p := new(probe[int])
			h := sched.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await[int](derive(cx), p) })
			p.polled(t)
			h.Abort()
			_, err := outcome(t, h)
			require.Equal(t, sched.ErrCanceled, err)
			require.EqualValues(t, 1, p.cancels.Load())
			require.Zero(t, rt.Contexts())
		}
	})
}

// Tasks wait with deadlines of package context. Neither the contexts nor the waits need goroutines.
func TestDerivedContextsNeedNoGoroutine(t *testing.T) {
	n := rounds(100_000)
	rt := start(t, sched.Config{Workers: 2, Coroutines: 0})
	ready, goOn, waiting, end := make(chan struct{}, n), sched.NewCancellationToken(), make(chan struct{}, n), sched.NewCancellationToken()
	var all []*sched.JoinHandle[int]
	for range n {
		all = append(all, sched.Go(rt, func(cx *sched.Context) (int, error) {
			ready <- struct{}{}
			if _, err := sched.Await(cx, goOn.Canceled()); err != nil {
				return 0, err
			}
			ctx, cancel := context.WithTimeout(cx, time.Hour)
			defer cancel()
			waiting <- struct{}{}
			_, err := sched.Await(ctx, end.Canceled())
			return 1, err
		}))
	}
	for range n {
		receive(t, "a task runs", ready)
	}
	before := runtime.NumGoroutine()
	goOn.Cancel()
	for range n {
		receive(t, "a task waits", waiting)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+n/10)
	end.Cancel()
	for _, h := range all {
		v, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, 1, v)
	}
	require.Zero(t, rt.Contexts())
}

func TestRepeatedWaitsWithADerivedContextAllocateNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	allocs, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (float64, error) {
		ctx, cancel := context.WithTimeout(context.WithValue(cx, contextKey{}, 1), time.Hour)
		defer cancel()
		y := new(pendingOnce)
		return testing.AllocsPerRun(100, func() {
			_, err := sched.Await[int](ctx, y)
			must(err == nil, "%v", err)
		}), nil
	}))
	require.NoError(t, err)
	require.Zero(t, allocs)
}

// A pendingOnce is pending at every second poll.
type pendingOnce struct{ pending bool }

func (p *pendingOnce) Poll(cx *sched.Context) (int, error) {
	if p.pending = !p.pending; p.pending {
		cx.Wake(cx.Waker())
		return 0, sched.ErrPending
	}
	return 0, nil
}

// Any goroutine may ask the context of a function, also after its end.
func TestAnyGoroutineMayAskTheContextOfATask(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range rounds(100) {
			lent := make(chan context.Context, 1)
			ended := make(chan error, 1)
			go func() {
				ctx := <-lent
				_, _ = ctx.Deadline()
				_ = ctx.Value(contextKey{})
				_ = ctx.Err()
				_ = fmt.Sprint(context.WithValue(ctx, contextKey{}, 1))
				<-ctx.Done()
				ended <- context.Cause(ctx)
			}()
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				lent <- cx
				_, err := sched.Await(cx, sched.Yield())
				return 0, err
			})
			_, err := outcome(t, h)
			require.NoError(t, err)
			require.Equal(t, context.Canceled, receive(t, "the context ends", ended))
		}
		require.Zero(t, rt.Contexts())
	})
}

// With a derived context, ready calls use the task's budget, so that others run.
func TestADerivedContextHasTheBudgetOfItsTask(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		ctx, cancel := context.WithCancel(cx)
		defer cancel()
		ran := false
		sched.Go(cx, func(*sched.Context) (int, error) { ran = true; return 0, nil }).Detach()
		values := make(chan int, 1)
		for i := 0; !ran; i++ {
			must(i < 10_000, "no other task runs")
			values <- i
			_, err := sched.Await(ctx, sched.Recv(values))
			must(err == nil, "%v", err)
		}
		return 0, nil
	}))
	require.NoError(t, err)
}

// A task that only asks whether its context has ended does not keep the runtime from closing.
func TestAClosingRuntimeEndsATaskThatAsksItsContext(t *testing.T) {
	for _, derive := range []func(cx *sched.Context) context.Context{
		func(cx *sched.Context) context.Context { return cx },
		func(cx *sched.Context) context.Context { return context.WithValue(cx, contextKey{}, 1) },
	} {
		rt := start(t, sched.Config{Workers: 1})
		asks := make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			ctx := derive(cx)
			close(asks)
			for ctx.Err() == nil {
				runtime.Gosched()
			}
			return 1, nil
		})
		receive(t, "the task asks", asks)
		require.NoError(t, shut(t, rt))
		_, err := outcome(t, h)
		require.NoError(t, err)
	}
}

// A context that was derived in a Poll lasts as long as the task, and needs no goroutine.
func TestAContextThatIsDerivedInAPollEndsWithTheTask(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		p := new(probe[int])
		made := make(chan context.Context, 2)
		first := true
		f := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if first {
				first = false
				before := runtime.NumGoroutine()
				ctx, cancel := context.WithTimeout(cx, time.Hour)
				context.AfterFunc(cx, cancel)
				must(ctx.Err() == nil && cx.Err() == nil, "it has ended")
				must(runtime.NumGoroutine() <= before+1, "a goroutine was started")
				made <- ctx
				made <- sched.WithoutTask(cx)
			}
			return p.Poll(cx)
		})
		h := sched.Spawn(rt, sched.Future[int](f))
		derived, lent := receive(t, "a context is made", made), receive(t, "a context is made", made)
		p.polled(t)
		require.NoError(t, derived.Err())
		require.NoError(t, lent.Err())
		waits := make(chan error, 1)
		go func() {
			_, err := sched.Await(lent, sched.NewCancellationToken().Canceled())
			waits <- err
		}()
		h.Abort()
		ended(t, derived)
		require.ErrorIs(t, receive(t, "the goroutine's wait ends", waits), sched.ErrCanceled)
		_, err := outcome(t, h)
		require.ErrorIs(t, err, sched.ErrCanceled)
		require.Zero(t, rt.Contexts())
	})
}

// A goroutine keeps a context that was derived in the Poll of an earlier wait, and waits with it.
func TestAContextOfAnEarlierWaitOfAGoroutine(t *testing.T) {
	var kept []context.Context
	f := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		derived, cancel := context.WithCancel(cx)
		context.AfterFunc(t.Context(), cancel)
		kept = append(kept, sched.WithoutTask(cx), sched.WithoutTask(derived), sched.WithoutTask(context.WithValue(cx, contextKey{}, 1)))
		return 1, nil
	})
	for range 10 {
		_, err := sched.Await(t.Context(), sched.Future[int](f))
		require.NoError(t, err)
		for _, ctx := range kept {
			_, err := sched.Await(ctx, ready(1, nil))
			require.NoError(t, err)
		}
	}
}

// The function of a Coroutine has a context that ends with the abort of its task, too.
func TestAnAbortEndsTheContextOfACoroutine(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	made := make(chan context.Context, 1)
	var c sched.Coroutine
	f := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		c.Begin(cx, func(cx *sched.Context) error {
			cx.Done()
			made <- cx
			_, err := sched.Await(cx, sched.Sleep(time.Hour))
			return err
		})
		return 0, sched.ErrPending
	})
	h := sched.Spawn(rt, sched.Future[int](f))
	ctx := receive(t, "a context is made", made)
	require.NoError(t, ctx.Err())
	h.Abort()
	ended(t, ctx)
	require.Equal(t, sched.ErrCanceled, context.Cause(ctx))
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
}
