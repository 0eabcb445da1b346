package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/dispatch"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

func TestMain(m *testing.M) { schedtest.EndlessMain(m, "sched.(*worker)") }

// in runs a function as a task of a new runtime.
func in(t *testing.T, workers int, fn func(cx *sched.Context) error) {
	t.Helper()
	rt := schedtest.Start(t, sched.Config{Workers: workers})
	done := make(chan error, 1)
	go func() {
		_, err := sched.Go(rt, func(cx *sched.Context) (struct{}, error) { return struct{}{}, fn(cx) }).Wait(context.Background())
		done <- err
	}()
	require.NoError(t, schedtest.Receive(t, "the task ends", done))
}

// each runs a test with each kind of dispatcher. elsewhere: functions do not run in their caller's
// task.
func each(t *testing.T, test func(t *testing.T, d dispatch.Dispatcher, elsewhere bool)) {
	custom, single := dispatch.Custom(3), dispatch.Single()
	var pool blocking.Pool
	other := schedtest.Start(t, sched.Config{Workers: 2})
	for name, d := range map[string]dispatch.Dispatcher{
		"default": dispatch.Default(other), "custom": custom, "single": single, "io": dispatch.IO(&pool), "unconfined": dispatch.Unconfined,
	} {
		t.Run(name, func(t *testing.T) { test(t, d, name != "unconfined") })
	}
	require.NoError(t, custom.Close())
	require.NoError(t, single.Close())
	require.NoError(t, pool.Shutdown(context.Background()))
}

// fn runs on the dispatcher, waits there, and its caller goes on where it was.
func TestOnResumesTheCallerOnItsRuntime(t *testing.T) {
	failure := errors.New("failure")
	each(t, func(t *testing.T, d dispatch.Dispatcher, elsewhere bool) {
		in(t, 2, func(cx *sched.Context) error {
			home := cx.Runtime()
			for i := range 200 {
				v, err := dispatch.On(cx, d, func(there context.Context) (int, error) {
					if elsewhere && there == context.Context(cx) {
						t.Error("the function has its caller's context")
					}
					if _, err := sched.Await[struct{}](there, sched.Yield()); err != nil {
						return 0, err
					}
					return i, failure
				})
				if v != i || err != failure || cx.Runtime() != home || cx.Worker() < 0 {
					return fmt.Errorf("got %d, %w on worker %d", v, err, cx.Worker())
				}
			}
			return nil
		})
	})
}

// A function runs in a task of the dispatcher's runtime, on a goroutine, or in place. Before and
// after, the caller is a task of its own runtime.
func TestWhereFunctionsRun(t *testing.T) {
	each(t, func(t *testing.T, d dispatch.Dispatcher, elsewhere bool) {
		in(t, 2, func(cx *sched.Context) error {
			home := cx.Runtime()
			_, err := dispatch.On(cx, d, func(there context.Context) (struct{}, error) {
				of := sched.FromContext(there)
				switch kind := path.Base(t.Name()); kind {
				case "io":
					require.Nil(t, of, "no task")
					wait := make(chan struct{})
					go close(wait)
					<-wait
				case "unconfined":
					require.Same(t, cx, of)
				default:
					require.NotNil(t, of)
					require.NotSame(t, home, of.Runtime())
				}
				return struct{}{}, nil
			})
			require.Same(t, cx, sched.FromContext(cx))
			return err
		})
	})
}

// A goroutine waits as well.
func TestAGoroutineWaitsForAFunction(t *testing.T) {
	each(t, func(t *testing.T, d dispatch.Dispatcher, _ bool) {
		v, err := dispatch.On(t.Context(), d, func(there context.Context) (int, error) {
			_, err := sched.Await[struct{}](there, sched.Sleep(time.Millisecond))
			return 7, err
		})
		require.NoError(t, err)
		require.Equal(t, 7, v)
	})
}

func TestFunctionsOfASingleDispatcherNeverOverlap(t *testing.T) {
	single := dispatch.Single()
	running, sum := int32(0), 0 // sum has no lock
	in(t, 4, func(cx *sched.Context) error {
		var set sched.JoinSet[struct{}]
		for range 50 {
			set.Go(cx, func(cx *sched.Context) (struct{}, error) {
				return dispatch.On(cx, single, func(context.Context) (struct{}, error) {
					if atomic.AddInt32(&running, 1) != 1 {
						t.Error("two functions run")
					}
					sum++
					atomic.AddInt32(&running, -1)
					return struct{}{}, nil
				})
			})
		}
		_, err := sched.Await[[]sched.Result[struct{}]](cx, set.JoinAll())
		return err
	})
	require.Equal(t, 50, sum)
	require.NoError(t, single.Close())
}

// A function that blocks on IO does not hold up its caller's only worker.
func TestIODoesNotHoldUpTheWorker(t *testing.T) {
	var pool blocking.Pool
	in(t, 1, func(cx *sched.Context) error {
		wait := make(chan struct{})
		blocked := sched.Go(cx, func(cx *sched.Context) (int, error) {
			return dispatch.On(cx, dispatch.IO(&pool), func(context.Context) (int, error) { <-wait; return 7, nil })
		})
		if _, err := sched.Await[struct{}](cx, sched.Yield()); err != nil {
			return err
		}
		close(wait)
		v, err := sched.Await[int](cx, blocked)
		if v != 7 {
			t.Error(v, err)
		}
		return err
	})
	require.NoError(t, pool.Shutdown(context.Background()))
}

// When the caller is aborted, so is the function.
func TestAnAbortReachesTheFunction(t *testing.T) {
	each(t, func(t *testing.T, d dispatch.Dispatcher, _ bool) {
		rt := schedtest.Start(t, sched.Config{Workers: 2})
		began, ended := make(chan struct{}), make(chan error, 1)
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			return dispatch.On(cx, d, func(ctx context.Context) (int, error) {
				close(began)
				_, err := sched.Await[struct{}](ctx, sched.Sleep(time.Hour))
				ended <- err
				return 0, err
			})
		})
		schedtest.Receive(t, "the function begins", began)
		h.Abort()
		require.ErrorIs(t, schedtest.Receive(t, "the function ends", ended), context.Canceled)
		_, err := h.Wait(context.Background())
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestAPanicElsewhereIsTheError(t *testing.T) {
	each(t, func(t *testing.T, d dispatch.Dispatcher, elsewhere bool) {
		in(t, 2, func(cx *sched.Context) error {
			if !elsewhere {
				return nil
			}
			_, err := dispatch.On(cx, d, func(context.Context) (int, error) { panic("oh") })
			if panicked := new(sched.PanicError); !errors.As(err, &panicked) || panicked.Value != "oh" {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
	})
}

// Code of one task runs on a dispatcher and comes back.
func ExampleOn() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	var pool blocking.Pool
	files := dispatch.IO(&pool)

	task := sched.Go(rt, func(cx *sched.Context) (string, error) {
		return dispatch.On(cx, files, func(context.Context) (string, error) {
			return "read by a goroutine", nil // may block
		})
	})
	fmt.Println(task.Wait(context.Background()))
	// Output: read by a goroutine <nil>
}
