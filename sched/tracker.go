package sched

import (
	"sync"
	"sync/atomic"
)

// A TaskTracker counts tasks, so that somebody can wait until they have all ended.
// Other than a JoinSet it keeps nothing of them: it does not grow with those that
// have ended. The zero value is open and empty. It must not be copied. Its methods
// may be called from any goroutine, and at once; they cost an atomic operation each.
type TaskTracker struct {
	state   atomic.Uint64 // the number of tasks, doubled, and trackerClosed
	mu      sync.Mutex
	waiters waitList
}

const (
	trackerClosed = 1
	oneTracked    = 2
)

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
	if t.state.Add(^uint64(oneTracked-1)) == trackerClosed {
		t.finished(cx)
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
	old := t.state.Or(trackerClosed)
	if old == 0 {
		t.finished(nil)
	}
	return old&trackerClosed == 0
}

// Reopen takes Close back. It reports whether the tracker was closed.
func (t *TaskTracker) Reopen() bool { return t.state.And(^uint64(trackerClosed))&trackerClosed != 0 }

// IsClosed reports whether the tracker is closed.
func (t *TaskTracker) IsClosed() bool { return t.state.Load()&trackerClosed != 0 }

// Len is the number of tasks.
func (t *TaskTracker) Len() int { return int(t.state.Load() / oneTracked) }

// Wait is done when the tracker is closed and empty, or was so at some time since its
// first poll. A task's last run may still be returning then. It fails never, and any
// number may wait.
func (t *TaskTracker) Wait() Future[struct{}] { return &trackerWait{tracker: t} }

type trackerWait struct {
	tracker *TaskTracker
	node    waitNode
	entered bool // it has waited, and so does unless it was woken
}

func (w *trackerWait) Poll(cx *Context) (struct{}, error) {
	t := w.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	// Whoever makes this true looks for waiters under the lock afterwards.
	if w.entered && !w.node.Listed() || t.state.Load() == trackerClosed {
		t.waiters.remove(&w.node)
		return struct{}{}, nil
	}
	w.entered = true
	t.waiters.add(&w.node, cx.Waker())
	return struct{}{}, ErrPending
}

func (w *trackerWait) Cancel() {
	t := w.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters.remove(&w.node)
}
