package sched

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// A Spawner is where a task can be spawned: a *Runtime, from anywhere, or the
// *Context of the task that spawns it.
type Spawner interface {
	spawn(t *Task, body Body) error
}

var (
	_ Spawner = (*Runtime)(nil)
	_ Spawner = (*Context)(nil)
)

// Spawn starts a task that polls f to its end. A runtime that cannot start, or
// has closed, shows in the handle's error.
func Spawn[T any](s Spawner, f Future[T]) *JoinHandle[T] {
	h := &JoinHandle[T]{future: f, done: make(chan struct{})}
	if err := s.spawn(&h.task, h); err != nil {
		h.finish(*new(T), err)
	} else {
		h.closed = h.task.home.rt.stopped
	}
	return h
}

// A JoinHandle is the other end of a spawned task. It is a Future itself. All
// methods may be called from any goroutine.
type JoinHandle[T any] struct {
	task   Task
	future Future[T] // the task's alone
	closed <-chan struct{}

	mu      sync.Mutex
	done    chan struct{} // closed when value and err are final
	value   T
	err     error
	waiters []Waker
}

// A PanicError is the error of a task that panicked.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // as debug.Stack formats it
}

// Error is the value, and where it was raised is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("sched: task panicked: %v", e.Value) }

// Unwrap is the value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Run polls the future. It is for the worker.
func (h *JoinHandle[T]) Run(cx *Context) (done bool) {
	defer func() {
		if v := recover(); v != nil {
			h.finish(*new(T), &PanicError{Value: v, Stack: debug.Stack()})
			done = true
		}
	}()
	v, err := h.future.Poll(cx)
	if err == ErrPending {
		return false
	}
	h.finish(v, err)
	return true
}

func (h *JoinHandle[T]) finish(v T, err error) {
	h.mu.Lock()
	h.value, h.err, h.future = v, err, nil
	waiters := h.waiters
	h.waiters = nil
	close(h.done)
	h.mu.Unlock()
	for _, w := range waiters {
		w.Wake()
	}
}

// Poll makes the handle a future of the task's result, or of ErrClosed if the
// task's runtime has closed. Closing does not wake a task of another runtime
// that was pending on the handle.
func (h *JoinHandle[T]) Poll(cx *Context) (T, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.done:
		return h.value, h.err
	case <-h.closed:
		return h.value, ErrClosed
	default:
		w := cx.Waker()
		for i := range h.waiters {
			if h.waiters[i] == w {
				return h.value, ErrPending
			}
		}
		h.waiters = append(h.waiters, w)
		return h.value, ErrPending
	}
}

// Wait blocks a goroutine, never a task, until the task is done and returns its
// result; ctx's error if that ends first, ErrClosed if the runtime closes.
func (h *JoinHandle[T]) Wait(ctx context.Context) (T, error) {
	var err error
	select {
	case <-h.done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-h.closed:
		err = ErrClosed
	}
	select {
	case <-h.done: // goes first: select picks any of those that are ready
		return h.value, h.err
	default:
		return *new(T), err
	}
}
