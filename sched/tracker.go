package sched

import (
	"sync"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A TaskTracker counts tasks, so that somebody can wait until they have all ended.
// Other than a JoinSet it keeps nothing of them: it does not grow with those that
// have ended. The zero value is open and empty. It must not be copied. Its methods
// may be called from any goroutine, and at once; they cost an atomic operation each.
type TaskTracker struct {
	state   atomics.Uint64
	mu      atomics.Mutex
	waiters waitList
}

// The state word of a tracker:
//
//	bits 40-63  how often it has become closed and empty, modulo their number
//	bits  1-39  the number of tasks
//	bit   0     it is closed
//
// The change that makes it closed and empty counts itself. So whoever has seen the word
// knows at any later time whether it has been so meanwhile, however long it lasted.
const (
	trackerClosed = 1
	oneTracked    = 1 << 1
	oneEmptied    = 1 << 40
	trackedMask   = oneEmptied - oneTracked
)

// emptied reports whether a tracker with that word is closed and empty.
func emptied(word uint64) bool { return word&(trackedMask|trackerClosed) == trackerClosed }

// Track is f, counted from now until it is done or abandoned. Whoever combines it
// with others must pass Cancel on to it.
func Track[T any](t *TaskTracker, f Future[T]) Future[T] {
	t.state.Add(oneTracked)
	return &observed[T]{future: f, observer: t}
}

// SpawnTracked is Spawn of a task that the tracker counts until it ends, be it by an
// abort, a panic or because the runtime is closed.
func SpawnTracked[T any](s Spawner, t *TaskTracker, f Future[T]) *JoinHandle[T] {
	return Spawn(s, Track(t, f))
}

// GoTracked is Go of a task that the tracker counts until it ends, be it by an abort,
// a panic or because the runtime is closed.
func GoTracked[T any](s Spawner, t *TaskTracker, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	t.state.Add(oneTracked)
	return Spawn(s, Future[T](&observed[T]{fn: fn, observer: t}))
}

// Hold counts something that is no task, until the function it returns is called,
// from any goroutine. To call that again does nothing.
func (t *TaskTracker) Hold() (release func()) {
	t.state.Add(oneTracked)
	return sync.OnceFunc(func() { t.taskEnds(nil) })
}

func (t *TaskTracker) taskEnds(cx *Context) {
	if _, last := t.change(func(word uint64) uint64 { return word - oneTracked }); last {
		t.finished(cx)
	}
}

// change changes the state word. It returns what that was, and whether the tracker has
// become closed and empty by the change.
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

// finished wakes those who wait: the tracker was closed and empty.
func (t *TaskTracker) finished(cx *Context) {
	t.mu.Lock()
	t.waiters.wakeAll(cx, &t.mu)
}

// Close says that waiting may come to an end once no tasks are left. Tasks can still
// be tracked. It reports whether the tracker was open.
func (t *TaskTracker) Close() bool {
	old, last := t.change(func(word uint64) uint64 { return word | trackerClosed })
	if last {
		t.finished(nil)
	}
	return old&trackerClosed == 0
}

// Reopen takes Close back. It reports whether the tracker was closed.
func (t *TaskTracker) Reopen() bool { return t.state.And(^uint64(trackerClosed))&trackerClosed != 0 }

// IsClosed reports whether the tracker is closed.
func (t *TaskTracker) IsClosed() bool { return t.state.Load()&trackerClosed != 0 }

// Len is the number of tasks.
func (t *TaskTracker) Len() int { return int(t.state.Load() & trackedMask / oneTracked) }

// Wait is done when the tracker is closed and empty, or was so at some time since its
// first poll. A task's last run may still be returning then. It fails never, and any
// number may wait.
func (t *TaskTracker) Wait() Future[struct{}] { return &trackerWait{tracker: t} }

type trackerWait struct {
	tracker *TaskTracker
	node    waitNode
	since   uint64 // the state word at the first poll
	entered bool   // there was one
}

func (w *trackerWait) Poll(cx *Context) (struct{}, error) {
	t := w.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	// A change of what is seen here is followed by a look for waiters under the lock.
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
