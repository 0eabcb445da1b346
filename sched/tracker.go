package sched

import (
	"sync"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A TaskTracker counts tasks, so that callers can wait until all of them have ended. Unlike a
// JoinSet it does not grow with tasks that have ended. The zero value is open and empty. It must
// not be copied. Its methods may be called from any goroutine, and concurrently; each costs an
// atomic operation.
type TaskTracker struct {
	state   atomics.Uint64
	mu      atomics.Mutex
	waiters waitList
}

// The state word of a tracker:
//
//	bits 40-63  how often it has become closed and empty, modulo 2²⁴
//	bits  1-39  the number of tasks
//	bit   0     it is closed
//
// The change that makes the tracker closed and empty also increases that count. So a goroutine
// that has seen the word can tell later whether the tracker was closed and empty in between,
// however short that was.
const (
	trackerClosed = 1
	oneTracked    = 1 << 1
	oneEmptied    = 1 << 40
	trackedMask   = oneEmptied - oneTracked
)

// emptied reports whether a tracker with that word is closed and empty.
func emptied(word uint64) bool { return word&(trackedMask|trackerClosed) == trackerClosed }

// Track is f, counted from now until it is done or abandoned. A future that contains it must pass
// Cancel on to it.
func Track[T any](t *TaskTracker, f Future[T]) Future[T] {
	mustHaveFuture(f)
	t.state.Add(oneTracked)
	return &observed[T]{future: f, observer: t}
}

// SpawnTracked is Spawn of a task that the tracker counts until it ends, also by an abort, a panic
// or the close of its runtime.
func SpawnTracked[T any](s Spawner, t *TaskTracker, f Future[T]) *JoinHandle[T] {
	return Spawn(s, Track(t, f))
}

// GoTracked is Go of a task that the tracker counts until it ends, also by an abort, a panic or
// the close of its runtime.
func GoTracked[T any](s Spawner, t *TaskTracker, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	mustHaveFunction(fn == nil)
	t.state.Add(oneTracked)
	return Spawn(s, Future[T](&observed[T]{fn: fn, observer: t}))
}

// Hold counts something that is not a task, until the returned function is called. Any goroutine
// may call that function; further calls do nothing.
func (t *TaskTracker) Hold() (release func()) {
	t.state.Add(oneTracked)
	return sync.OnceFunc(func() { t.taskEnds(nil) })
}

func (t *TaskTracker) taskEnds(cx *Context) {
	if _, last := t.change(func(word uint64) uint64 { return word - oneTracked }); last {
		t.finished(cx)
	}
}

// change changes the state word. It returns the old word, and whether the change made the tracker
// closed and empty.
func (t *TaskTracker) change(to func(word uint64) uint64) (old uint64, last bool) {
	for {
		old = t.state.Load()
		next := to(old)
		if last = emptied(next) && !emptied(old); last {
			next += oneEmptied
		}
		if t.state.CompareAndSwap(old, next) {
			return old, last
		}
	}
}

// finished wakes the waiters: the tracker was closed and empty.
func (t *TaskTracker) finished(cx *Context) {
	t.mu.Lock()
	t.waiters.wakeAll(cx, &t.mu)
}

// Close allows Wait to end once no tasks are left. Tasks can still be tracked. It reports whether
// the tracker was open.
func (t *TaskTracker) Close() bool {
	old, last := t.change(func(word uint64) uint64 { return word | trackerClosed })
	if last {
		t.finished(nil)
	}
	return old&trackerClosed == 0
}

// Reopen reverts Close. It reports whether the tracker was closed.
func (t *TaskTracker) Reopen() bool { return t.state.And(^uint64(trackerClosed))&trackerClosed != 0 }

// IsClosed reports whether the tracker is closed.
func (t *TaskTracker) IsClosed() bool { return t.state.Load()&trackerClosed != 0 }

// Len is the number of tasks.
func (t *TaskTracker) Len() int { return int(t.state.Load() & trackedMask / oneTracked) }

// Wait is done when the tracker is closed and empty, or was so at some time since its first poll.
// A task's last run may still be returning at that moment. It never fails, and any number of
// callers may wait.
func (t *TaskTracker) Wait() Future[struct{}] { return &trackerWait{tracker: t} }

type trackerWait struct {
	tracker *TaskTracker
	node    waitNode
	since   uint64 // the state word at the first poll
	entered bool   // Poll has been called
}

func (w *trackerWait) Poll(cx *Context) (struct{}, error) {
	t := w.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	// If the word changes after this, the change is followed by a check for waiters under the
	// lock.
	word := t.state.Load()
	if !w.entered {
		w.entered, w.since = true, word
	}
	if emptied(word) || word/oneEmptied != w.since/oneEmptied {
		t.waiters.remove(&w.node)
		return struct{}{}, nil
	}
	t.waiters.add(&w.node, cx.Waker())
	return struct{}{}, ErrPending
}

func (w *trackerWait) Cancel() {
	t := w.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters.remove(&w.node)
}
