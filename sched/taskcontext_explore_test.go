//go:build explore

package sched

import (
	"context"
	"fmt"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
	"github.com/suiro-go/suiro/internal/goid"
)

// newFunction is the context of a function that runs in a task.
func newFunction(rt *Runtime) *Context {
	t := &Task{rt: rt}
	t.state.word.Store(stateRunning)
	co := new(coroutine)
	co.cx = &Context{rt: rt, worker: &worker{rt: rt}, task: t, coroutine: co, word: stateRunning, budget: budgetPerRun}
	t.coroutine = co
	return co.cx
}

// A goroutine makes the context of a function while the function returns, is aborted or canceled,
// or the runtime closes. The context ends, with the reason, and nothing is left in the runtime.
func TestExploreAFunctionsContextAgainstItsEnd(t *testing.T) {
	for _, end := range []string{"return", "abort", "cancel", "close", "abort and return", "cancel and return", "close and return"} {
		t.Run(end, func(t *testing.T) {
			explorer.Explore(t, allOrders, func(x *explorer.Execution) {
				rt := new(Runtime)
				cx := newFunction(rt)
				var made context.Context
				x.Go("maker", func() { made = cx.make() })
				returns := end == "return" || end == "abort and return" || end == "close and return"
				switch end {
				case "abort", "abort and return":
					w := Waker{task: cx.task, generation: cx.task.generation()}
					x.Go("aborter", w.abort)
				case "close", "close and return":
					x.Go("closer", rt.contexts.close)
				case "cancel", "cancel and return":
					x.Go("worker", func() {
						cx.canceled.Store(true)
						cx.endIfCanceled()
						if end != "cancel" {
							cx.over()
						}
					})
				}
				if returns {
					x.Go("worker", func() {
						cx.over()
						cx.task.state.complete()
					})
				}
				x.Finally(func() {
					x.Require(made.Err() != nil, "the context has not ended")
					cause := context.Cause(made)
					switch end {
					case "abort", "cancel":
						x.Require(cause == ErrCanceled, "the cause is %v", cause)
					case "close":
						x.Require(cause == ErrClosed, "the cause is %v", cause)
					}
					if returns || end == "cancel and return" {
						x.Require(len(rt.contexts.m) == 0, "it is still in the runtime")
					}
				})
			})
		})
	}
}

// An endable is a context that a thread of an exploration ends.
type endable struct {
	context.Context // the function's
	x               *explorer.Execution
	done            chan struct{}
	ended           explorer.Bool
	after           []func()
}

func (e *endable) Done() <-chan struct{} { return e.done }

func (e *endable) Err() error {
	if e.ended.Load() {
		return context.Canceled
	}
	return nil
}

func (e *endable) AfterFunc(f func()) (stop func() bool) {
	explorer.Step(e.x, "registers for the end", e, func() {})
	if e.ended.Load() {
		f()
		return func() bool { return false }
	}
	i := len(e.after)
	e.after = append(e.after, f)
	return func() bool {
		e.after[i] = nil
		return true
	}
}

func (e *endable) end() {
	e.ended.Store(true)
	for _, f := range e.after {
		if f != nil {
			f()
		}
	}
}

// A handed future is done when a value has been handed to it. A value that comes after it was
// abandoned goes back.
type handed struct {
	x         *explorer.Execution
	given     explorer.Bool
	waker     Waker
	taken     bool
	back      bool
	abandoned bool
}

func (h *handed) Poll(cx *Context) (int, error) {
	explorer.Step(h.x, "polls", h, func() { h.waker = cx.Waker() })
	if h.given.Load() {
		h.taken = true
		return 1, nil
	}
	return 0, ErrPending
}

func (h *handed) Cancel() {
	explorer.Step(h.x, "is abandoned", h, func() {
		h.abandoned = true
		h.back = h.given.Load() && !h.taken
	})
}

func (h *handed) give() {
	var w Waker
	explorer.Step(h.x, "is given a value", h, func() {
		if h.abandoned {
			h.back = true
			return
		}
		h.given.Store(true)
		w = h.waker
	})
	w.Wake()
}

// A task waits with contexts that were derived from its own, one after the other. One ends while
// the value that the task waits for is handed over. The wait ends, by the value or by the end; the
// value is taken or goes back.
func TestExploreTheEndOfADerivedContextAgainstAWake(t *testing.T) {
	for _, test := range []struct {
		waits int
		gives bool
	}{{1, true}, {1, false}, {2, true}, {2, false}, {3, true}, {3, false}} {
		t.Run(fmt.Sprintf("%d waits, gives %v", test.waits, test.gives), func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
				cx := newFunction(new(Runtime))
				task, co := cx.task, cx.coroutine
				b := makeBlocker(make(chan struct{}, 1)) // it is told to run the task
				b.ctx, task.rt, task.body = context.Background(), nil, b
				co.yield = func(struct{}) bool {
					if !task.state.suspend() {
						explorer.Wait(x, "to be woken", b, func() bool { return len(b.woke) > 0 }, func() { <-b.woke })
					}
					task.state.start()
					return true
				}
				first := &endable{Context: cx, x: x, done: make(chan struct{})}
				ctx := &endable{Context: cx, x: x, done: make(chan struct{})}
				h := &handed{x: x}
				x.Go("task", func() {
					co.id = goid.Get()
					for range test.waits - 1 {
						polls := 0
						_, err := Await(first, FutureFunc[int](func(cx *Context) (int, error) {
							if polls++; polls == 1 {
								cx.Waker().Wake()
								return 0, ErrPending
							}
							return 0, nil
						}))
						x.Require(err == nil, "a wait before: %v", err)
					}
					_, err := Await(ctx, Future[int](h))
					x.Require(err == nil && h.taken || err == context.Canceled && !h.taken, "%v, taken: %v", err, h.taken)
				})
				x.Go("ender", ctx.end)
				if test.gives {
					x.Go("giver", h.give)
				}
				x.Finally(func() {
					x.Require(h.taken != h.abandoned && (h.taken || h.back == test.gives), "taken: %v, abandoned: %v, gone back: %v", h.taken, h.abandoned, h.back)
				})
			})
		})
	}
}
