package sched

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// Done is closed when the task is aborted, when its function has returned, or when its runtime is
// closed. So aborting a task also cancels its database query, for example, even while the task is
// within the call. context.Cause is ErrCanceled after an abort and ErrClosed after a close. A
// shield (see Shield) defers that, as it defers the abort. For cleaning up after an abort, raise a
// shield and wait with context.WithoutCancel(cx), or with a context that was derived from it.
//
// A task has no deadline and no values, unless its Body is a Contexter. A task does not inherit
// from the task that spawned it. In a Poll of Block or Await of an ordinary goroutine, all is that
// of the context which they were given.
//
// The first call of Done costs about 1 µs and four allocations. A task that never calls it, and
// derives no context that can end, pays nothing. Contexts that are derived with package context
// start no goroutine.
func (cx *Context) Done() <-chan struct{} { return cx.make().Done() }

// Err is nil until Done is closed, and then context.Canceled.
func (cx *Context) Err() error {
	if cx.made.Load() == nil && cx.coroutine != nil && cx.isHere() && !cx.Canceled() {
		if _, hasParent := cx.task.body.(Contexter); !hasParent {
			return nil
		}
	}
	return cx.make().Err()
}

// Deadline is that of the parent: see Contexter.
func (cx *Context) Deadline() (deadline time.Time, ok bool) { return cx.base().Deadline() }

// Value is that of the parent: see Contexter. So the values of context.WithValue(cx, …) are those
// of a task.
func (cx *Context) Value(key any) any {
	if key == (taskKey{}) {
		return cx
	}
	return cx.base().Value(key)
}

// String names the context in the texts of contexts that were derived from it.
func (cx *Context) String() string { return "sched.Context" }

// A Contexter is a Body that provides a parent for its tasks' contexts: its values, its deadline,
// and another end. Any goroutine may call TaskContext, at any time until the task, or the function
// of the Coroutine, has ended. inRun: it is called in a run of the task.
type Contexter interface {
	TaskContext(inRun bool) context.Context
}

// base is the context that was made, or its parent.
func (cx *Context) base() context.Context {
	if c := cx.made.Load(); c != nil {
		return c.ctx
	}
	return cx.parent()
}

func (cx *Context) parent() context.Context {
	if here := cx.isHere(); here || cx.coroutine != nil {
		switch body := cx.task.body.(type) {
		case *blocker:
			return body.ctx
		case Contexter:
			return body.TaskContext(here)
		}
	}
	return context.Background()
}

// make returns the context.Context of the task that the context belongs to.
func (cx *Context) make() context.Context {
	if c := cx.made.Load(); c != nil {
		return c.ctx
	}
	switch {
	case cx.coroutine != nil:
		return cx.makeForFunction()
	case !cx.isHere(): // after its Poll
		return ended.ctx
	case cx.worker == nil:
		return cx.parent()
	default:
		return cx.makeForPoll()
	}
}

// taskContexts are the contexts of a runtime's tasks, in a map. So tasks without a context need no
// memory for it.
//
// An abort and the making of a context are ordered by the task's state word. The maker stores the
// context here, sets contexted, and checks the word from before. If the task is due to end, it
// ends the context. An abort first sets canceled, and then checks contexted. So one of the two
// sees the other. A task that ends its last shield checks for both.
//
// The end of a function and the making of its context are ordered by Context.made, which changes
// once: the maker sets it to the context, or the end sets it to ended. If the maker was first, the
// end ends the context, and then removes it from here. If that was before the maker has stored it,
// the maker finds that it has ended, and removes it.
type taskContexts struct {
	mu     atomics.Mutex
	closed bool
	m      map[any]*taskContext // the key is a *Task or, for a function of a Coroutine, its *Context
}

type taskContext struct {
	generation uint64 // of the task
	ctx        context.Context
	cancel     context.CancelCauseFunc
}

// ended is the context of a function that has returned without having made one.
var ended = func() *taskContext {
	c := newTaskContext(context.Background(), 0)
	c.cancel(context.Canceled)
	return c
}()

func newTaskContext(parent context.Context, generation uint64) *taskContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &taskContext{generation, ctx, cancel}
}

func (cx *Context) contextKey() any {
	if cx.function {
		return cx
	}
	return cx.task
}

// makeForFunction makes the context of a function. Any goroutine may call it. No user function is
// called under a lock, but contexts call some.
func (cx *Context) makeForFunction() context.Context {
	generation := cx.task.generationOf(cx.word)
	c := newTaskContext(cx.parent(), generation)
	if !cx.made.CompareAndSwap(nil, c) {
		c.cancel(nil)
		return cx.made.Load().ctx
	}
	cx.rt.contexts.put(cx.contextKey(), c)
	if cx.function {
		cx.endIfCanceled()
	} else if cx.task.state.addContext(generation) {
		c.cancel(ErrCanceled)
	}
	if c.ctx.Err() != nil {
		cx.rt.contexts.remove(cx.contextKey(), c)
	}
	return c.ctx
}

// makeForPoll makes the context of the running stackless task, or returns it.
func (cx *Context) makeForPoll() context.Context {
	cs, t := &cx.rt.contexts, cx.task
	generation := t.generationOf(cx.word)
	cs.mu.Lock()
	c := cs.m[t]
	cs.mu.Unlock()
	if c != nil && c.generation == generation {
		return c.ctx
	}
	c = newTaskContext(cx.parent(), generation)
	cs.put(t, c)
	if t.state.addContext(generation) {
		c.cancel(ErrCanceled)
	}
	return c.ctx
}

// over ends the context of a function that has returned.
func (cx *Context) over() {
	if cx.followed.stop != nil {
		cx.followed.stop()
	}
	if !cx.made.CompareAndSwap(nil, ended) {
		c := cx.made.Load()
		c.cancel(context.Canceled)
		cx.rt.contexts.remove(cx.contextKey(), c)
	}
}

// endIfCanceled ends the context of a function that was canceled, if there is one and no shield is
// up. Cancel sets canceled before it looks for the context. The maker of the context sets made
// before it looks at canceled.
func (cx *Context) endIfCanceled() {
	if c := cx.made.Load(); c != nil && cx.canceled.Load() && cx.task.state.word.Load()&shieldMask == 0 {
		c.cancel(ErrCanceled)
	}
}

// lowered is called after a shield of the task has ended. ends: the task is due to end now.
func (cx *Context) lowered(t *Task, ends bool) {
	if ends {
		t.rt.contexts.abort(t, t.generation())
	}
	if cx != nil && cx.task == t {
		cx.endIfCanceled()
	}
}

func (cs *taskContexts) put(key any, c *taskContext) {
	cs.mu.Lock()
	if cs.m == nil {
		cs.m = make(map[any]*taskContext)
	}
	cs.m[key] = c
	closed := cs.closed
	cs.mu.Unlock()
	if closed {
		c.cancel(ErrClosed)
	}
}

func (cs *taskContexts) remove(key any, c *taskContext) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.m[key] == c {
		delete(cs.m, key)
	}
}

// abort ends the context of a task because the task is due to end.
func (cs *taskContexts) abort(t *Task, generation uint64) {
	cs.mu.Lock()
	c := cs.m[t]
	cs.mu.Unlock()
	if c != nil && c.generation == generation {
		c.cancel(ErrCanceled)
	}
}

// end is called when a stackless task has ended.
func (cs *taskContexts) end(t *Task) {
	cs.mu.Lock()
	c := cs.m[t]
	delete(cs.m, t)
	cs.mu.Unlock()
	if c != nil {
		c.cancel(context.Canceled)
	}
}

// close ends all contexts, including future ones.
func (cs *taskContexts) close() {
	cs.mu.Lock()
	cs.closed = true
	all := slices.Collect(maps.Values(cs.m))
	cs.mu.Unlock()
	for _, c := range all {
		c.cancel(ErrClosed)
	}
}
