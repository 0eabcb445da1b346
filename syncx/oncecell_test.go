package syncx_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

var errMaking = errors.New("it cannot be made")

// A maker makes a value, in each form: it waits for leave, and then calls f.
type maker struct {
	began, leave chan struct{}
	f            func() (int, error)
}

func newMaker(f func() (int, error)) *maker {
	return &maker{began: make(chan struct{}), leave: make(chan struct{}), f: f}
}

// asking is an op that gets the value, made by m if there is none, and passes it to got.
func asking(c *syncx.OnceCell[int], m *maker, got func(v int)) op {
	tell := func(v int, err error) error {
		if err == nil {
			got(v)
		}
		return err
	}
	return op{
		future: func() sched.Future[struct{}] {
			return &mapped[int]{c.GetOrInitFuture(m.future()), tell}
		},
		wait: func(ctx context.Context) error {
			return tell(c.GetOrInit(ctx, func(ctx context.Context) (int, error) { return sched.Await(ctx, m.future()) }))
		},
	}
}

func (m *maker) future() sched.Future[int] {
	began := false
	return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		if !began {
			began = true
			close(m.began)
			w := cx.Waker()
			go func() { <-m.leave; w.Wake() }()
		}
		select {
		case <-m.leave:
			return m.f()
		default:
			return 0, sched.ErrPending
		}
	})
}

func TestWhenAnInitializerFailsPanicsOrIsCanceledTheNextOneRuns(t *testing.T) {
	for name, fails := range map[string]func() (int, error){
		"fails":       func() (int, error) { return 1, errMaking },
		"panics":      func() (int, error) { panic(errMaking) },
		"is canceled": nil,
	} {
		t.Run(name, func(t *testing.T) {
			inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
				if f == goroutine && name == "panics" {
					testPanicInAGoroutine(t, rt)
					return
				}
				var c syncx.OnceCell[int]
				first := newMaker(fails)
				second := newMaker(func() (int, error) { return 2, nil })
				third := newMaker(func() (int, error) { return 3, nil })
				var values atomic.Int32
				got := func(v int) { values.Add(int32(v)) }
				one := asking(&c, first, got).begin(rt, f, nothing)
				receive(t, "the first begins", first.began)
				two := asking(&c, second, got).begin(rt, f, nothing)
				eventually(t, "the second waits", func() bool { return c.Waiters() == 1 })
				three := asking(&c, third, got).begin(rt, f, nothing)
				eventually(t, "the third waits", func() bool { return c.Waiters() == 2 })
				if fails == nil {
					one.giveUp()
					require.ErrorIs(t, one.result(t), context.Canceled)
					defer close(first.leave)
				} else {
					close(first.leave)
					require.ErrorIs(t, one.result(t), errMaking)
				}
				receive(t, "the second begins", second.began)
				_, ok := c.Get()
				require.False(t, ok)
				require.False(t, c.Set(9), "somebody is making it")
				close(second.leave)
				require.NoError(t, two.result(t))
				require.NoError(t, three.result(t))
				require.EqualValues(t, 4, values.Load(), "both got the second's")
				v, ok := c.Get()
				require.True(t, ok)
				require.Equal(t, 2, v)
				require.False(t, c.Set(9))
				require.NoError(t, asking(&c, third, got).begin(rt, f, nothing).result(t))
				require.EqualValues(t, 6, values.Load())
			})
		})
	}
}

// A panic in a goroutine reaches the caller.
func testPanicInAGoroutine(t *testing.T, rt *sched.Runtime) {
	var c syncx.OnceCell[int]
	func() {
		defer func() { require.Equal(t, errMaking, recover()) }()
		_, _ = c.GetOrInit(context.Background(), func(context.Context) (int, error) { panic(errMaking) })
	}()
	v, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		return c.GetOrInit(cx, func(context.Context) (int, error) { return 2, nil })
	}))
	require.NoError(t, err)
	require.Equal(t, 2, v)
}

func TestOneOfManyMakesTheValue(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range rounds(100) {
			var c syncx.OnceCell[int]
			var made, sum atomic.Int32
			var all []*wait
			for i := range 30 {
				m := newMaker(func() (int, error) { made.Add(1); return 7, nil })
				close(m.leave)
				all = append(all, asking(&c, m, func(v int) { sum.Add(int32(v)) }).begin(rt, forms[i%len(forms)], nothing))
			}
			for _, w := range all {
				require.NoError(t, w.result(t))
			}
			require.EqualValues(t, 1, made.Load())
			require.EqualValues(t, 30*7, sum.Load())
		}
	})
}

func TestAnInitializerThatIsNotNeededIsAbandoned(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var c syncx.OnceCell[int]
	require.True(t, c.Set(5))
	f := &abandoned{}
	once := c.GetOrInitFuture(f)
	for range 2 {
		v, err := outcome(t, sched.Spawn(rt, once))
		require.NoError(t, err)
		require.Equal(t, 5, v)
	}
	require.Equal(t, 1, f.canceled)
}

type abandoned struct{ canceled int }

func (*abandoned) Poll(*sched.Context) (int, error) { return 0, errMaking }
func (a *abandoned) Cancel()                        { a.canceled++ }

func TestAnInitializerThatFailedStaysFailed(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var c syncx.OnceCell[int]
	once := c.GetOrInitFuture(&abandoned{})
	pollOnce(t, rt, once, errMaking)
	pollOnce(t, rt, once, errMaking)
	require.True(t, c.Set(1), "the cell is empty and free")
}

// The value is there, so no waiter may depend on another one, which may be late.
func TestNoWaiterForAValueWaitsForAnotherWaiter(t *testing.T) {
	rt := schedtest.Start(t, sched.Config{Workers: 1})
	var cell syncx.OnceCell[int]
	began, open := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := cell.GetOrInit(context.Background(), func(context.Context) (int, error) { close(began); <-open; return 1, nil })
		first <- err
	}()
	schedtest.Receive(t, "the value is being made", began)
	late := cell.GetOrInitFuture(sched.FutureFunc[int](func(*sched.Context) (int, error) { return 2, nil }))
	_, err := sched.Block(context.Background(), rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		_, err := late.Poll(cx) // it queues, and is not polled again
		require.Equal(t, sched.ErrPending, err)
		return 0, nil
	}))
	require.NoError(t, err)
	behind := make(chan int, 1)
	go func() {
		v, _ := cell.GetOrInit(context.Background(), func(context.Context) (int, error) { return 3, nil })
		behind <- v
	}()
	eventually(t, "two wait", func() bool { return cell.Waiters() == 2 })
	close(open)
	require.NoError(t, schedtest.Receive(t, "the value is made", first))
	require.Equal(t, 1, schedtest.Receive(t, "the waiter behind gets it", behind))
	abandon(late)
}
