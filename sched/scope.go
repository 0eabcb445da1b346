package sched

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A TaskScope is a group of tasks, such as those of a server, that ends before its runtime does.
// It ends in three steps: Drain asks the tasks to end, Wait waits for them, Close aborts the
// remaining ones. The zero value is open and empty. It must not be copied. Its methods may be
// called from any goroutine, and concurrently.
//
// The results of tasks are available only from their handles. A scope does not grow with tasks
// that have ended. A task costs one allocation and two lock operations more than a task outside a
// scope.
type TaskScope struct {
	tracker  TaskTracker
	draining CancellationToken

	mu     atomics.Mutex // held for some instructions; no user function is called under it
	closed bool
	first  *scopeTask // a list, in no order, of the tasks that have not ended
}

// A scopeTask is a task of a scope, and that task's future.
type scopeTask struct {
	observed[struct{}]
	work  func(cx *Context) error // the function of a stackful task
	scope *TaskScope

	// Under the scope's mutex:
	prev, next *scopeTask
	in         bool // it is in the list
	over       bool // it has ended

	handle JoinHandle[struct{}] // the scope's handle, for an abort
}

// Follow makes the scope's token a child of parent, for example of the runtime's token. Then
// canceling parent also cancels the scope's token. Call it on a new scope, before any other
// method. parent refers to the token until Drain or Close.
func (s *TaskScope) Follow(parent *CancellationToken) { parent.adopt(&s.draining) }

// Go starts a stackful task in the scope (see the function Go). In a closed scope fn is not
// called, and the error of the handle is ErrClosed.
func (s *TaskScope) Go(sp Spawner, fn func(cx *Context) error) *JoinHandle[struct{}] {
	mustHaveFunction(fn == nil)
	t := &scopeTask{work: fn}
	t.fn = t.run
	return s.spawn(sp, t)
}

// Spawn starts a stackless task in the scope (see the function Spawn). In a closed scope f is
// abandoned, and the error of the handle is ErrClosed.
func (s *TaskScope) Spawn(sp Spawner, f Future[struct{}]) *JoinHandle[struct{}] {
	mustHaveFuture(f)
	return s.spawn(sp, &scopeTask{observed: observed[struct{}]{future: f}})
}

func (t *scopeTask) run(cx *Context) (struct{}, error) { return struct{}{}, t.work(cx) }

// spawn counts the task, puts it into the list, and launches it, in this order. So Close either
// finds it in the list and aborts it, or has set closed before. And if CloseIfEmpty has not
// counted the task, it is refused.
func (s *TaskScope) spawn(sp Spawner, t *scopeTask) *JoinHandle[struct{}] {
	t.scope, t.observer = s, t
	s.tracker.state.Add(oneTracked)
	rt, w, err := sp.where()
	// One reference each is for the scheduler, the returned handle, the scope's handle, and
	// launch. The last one is needed because the task may have ended before launch returns.
	c := newCell(rt, w, Future[struct{}](t), nil, 4*oneRef)
	defer c.unref(nil) // deferred, in case Cancel of a refused task exits the goroutine
	t.handle.cell = c
	h := &JoinHandle[struct{}]{cell: c}
	if s.enter(t) {
		c.launch(rt, w, err)
	} else {
		t.forget(nil)
		c.refuse(ErrClosed)
	}
	return h
}

// enter puts a task into the list, and reports whether it may be launched. The task may have ended
// by then, because its runtime has ended.
func (s *TaskScope) enter(t *scopeTask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || t.over {
		return false
	}
	if t.next = s.first; t.next != nil {
		t.next.prev = t
	}
	s.first, t.in = t, true
	return true
}

// taskEnds takes the task out of the list.
func (t *scopeTask) taskEnds(cx *Context) {
	s := t.scope
	s.mu.Lock()
	if t.in {
		s.leave(t)
	}
	t.over = true
	s.mu.Unlock()
	t.forget(cx)
	s.tracker.taskEnds(cx)
}

func (s *TaskScope) leave(t *scopeTask) {
	if t.prev == nil {
		s.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.prev, t.next, t.in = nil, nil, false
}

// forget gives up the scope's reference, once.
func (t *scopeTask) forget(cx *Context) {
	if c := t.handle.forget(); c != nil {
		c.unref(cx)
	}
}

// Hold counts something that is not a task, until the returned function is called. Any goroutine
// may call that function; further calls do nothing. Close does not end a hold.
func (s *TaskScope) Hold() (release func()) { return s.tracker.Hold() }

// Len is the number of tasks that have not ended plus the number of holds.
func (s *TaskScope) Len() int { return s.tracker.Len() }

// Draining is the token that Drain cancels. In the scope's tasks it is also Context.Draining.
func (s *TaskScope) Draining() *CancellationToken { return &s.draining }

// Drain asks the tasks to end, by the token. Tasks can still be spawned, because others may need
// them in order to end.
func (s *TaskScope) Drain() {
	s.draining.Cancel()
	s.tracker.Close()
}

// Wait is done when Drain or Close was called and neither a task nor a hold is left. It never
// fails, and any number of callers may wait. A task's last run may still be returning at that
// moment.
func (s *TaskScope) Wait() Future[struct{}] { return s.tracker.Wait() }

// CloseIfEmpty closes the scope if it has neither tasks nor holds, and reports whether it did.
func (s *TaskScope) CloseIfEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracker.Len() > 0 {
		return false
	}
	s.closed = true
	return true
}

// Close calls Drain and aborts all tasks (see JoinHandle.Abort). From then on new tasks are
// refused. Close does not wait for tasks: Wait does.
func (s *TaskScope) Close() {
	s.Drain()
	s.mu.Lock()
	s.closed = true
	var all []*scopeTask
	for t := s.first; t != nil; t = t.next {
		all = append(all, t)
	}
	s.mu.Unlock()
	for _, t := range all { // some may have ended, and given up their handles
		t.handle.Abort()
	}
}

// Names returns a name for each task that has not ended: the function of Go, or the type of the
// future of Spawn.
func (s *TaskScope) Names() []string {
	type code struct {
		work   func(cx *Context) error
		future Future[struct{}]
	}
	s.mu.Lock()
	var all []code
	for t := s.first; t != nil; t = t.next {
		all = append(all, code{t.work, t.future}) // copied under the lock: a task that ends drops its future
	}
	s.mu.Unlock()
	names := make([]string, len(all))
	for i, c := range all {
		if c.work == nil {
			names[i] = fmt.Sprintf("%T", c.future)
		} else {
			names[i] = runtime.FuncForPC(reflect.ValueOf(c.work).Pointer()).Name()
		}
	}
	return names
}
