package sched

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Context is a context.Context for calls of libraries. It ends when the task is aborted, when the
// task ends, or when its runtime is closed. So aborting a task also cancels its database query,
// for example. context.Cause is ErrCanceled after an abort and ErrClosed after a close. An abort
// ends the context even while the task is within the call. A shield (see Shield) defers that, as
// it defers the abort. While a shield is up in a task that was aborted, Context returns a new
// context, for cleaning up.
//
// Its values and its deadline are those of the parent: see Inherit and Contexter. Each call
// returns the same context, and any goroutine may use it. In Block and Wait it is the context that
// they were given. The first call costs about 1 µs and four allocations. A task that never calls
// Context pays nothing.
func (cx *Context) Context() context.Context {
	if cx.worker == nil {
		return cx.task.body.(*blocker).ctx
	}
	cs := &cx.rt.contexts
	parent, ctx := cs.of(cx)
	if ctx != nil {
		return ctx
	}
	if parent == nil {
		parent = context.Background()
		if p, ok := cx.task.body.(Contexter); ok {
			parent = p.TaskContext()
		}
	}
	ctx, cancel := context.WithCancelCause(parent)
	cs.put(cx, taskContext{parent: parent, ctx: ctx, cancel: cancel})
	return ctx
}

// Inherit makes ctx the parent of the task's contexts (see Context) that are made from now on.
// They have ctx's values and deadline, and end with it. An Await does not end with ctx: use
// WithContext for that. A context that was made before ends. A task does not inherit from the task
// that spawned it. In Block and Wait, Inherit does nothing.
func (cx *Context) Inherit(ctx context.Context) {
	if cx.worker != nil {
		cx.rt.contexts.put(cx, taskContext{parent: ctx})
	}
}

// A Contexter is a Body that provides a parent for its task's contexts (see Context.Context).
// TaskContext is called once for a task or a Coroutine, in a run, when the first context is made.
type Contexter interface {
	TaskContext() context.Context
}

// taskContexts are the contexts of a runtime's tasks, in a map by task. So tasks without a context
// need no memory for it.
//
// An abort and the making of a context are ordered by the task's state word. The maker stores the
// context here, sets contexted, and checks the word from before. If the task is due to end, it
// ends the context. An abort first sets canceled, and then checks contexted. So one of the two
// sees the other. A task that ends its last shield checks for both.
type taskContexts struct {
	mu     sync.Mutex
	closed bool
	m      map[any]*taskContext // the key is a *Task or, for a function within a task, a *Coroutine
}

type taskContext struct {
	generation uint64 // of the task
	parent     context.Context
	ctx        context.Context // nil: not made yet
	cancel     context.CancelCauseFunc
	aborted    bool // it has ended because of an abort
}

// of returns the running task's parent, and its context unless a new one must be made.
func (cs *taskContexts) of(cx *Context) (parent, ctx context.Context) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.m[cx.contextKey()]
	if c == nil {
		return nil, nil
	}
	if c.aborted && !cx.Canceled() {
		return c.parent, nil
	}
	return c.parent, c.ctx
}

// put stores a context, or a parent for one, of the running task. No user function is called under
// the lock, but contexts call some.
func (cs *taskContexts) put(cx *Context, c taskContext) {
	c.generation = cx.task.generationOf(cx.word)
	key := cx.contextKey()
	cs.mu.Lock()
	if cs.m == nil {
		cs.m = make(map[any]*taskContext)
	}
	before, closed := cs.m[key], cs.closed
	cs.m[key] = &c
	cs.mu.Unlock()
	if before != nil {
		before.end(context.Canceled)
	}
	if cx.marksContext() {
		cs.abort(key, c.generation)
	}
	if closed {
		c.end(ErrClosed)
	}
}

func (c *taskContext) end(cause error) {
	if c.cancel != nil {
		c.cancel(cause)
	}
}

func (cx *Context) contextKey() any {
	if co := cx.coroutine; co != nil {
		if c, ok := co.job.(*Coroutine); ok {
			return c
		}
	}
	return cx.task
}

// marksContext records that the task or coroutine has a context, so that its end and its abort end
// the context. It reports whether the task is already due to end.
func (cx *Context) marksContext() (due bool) {
	if co := cx.coroutine; co != nil {
		if _, ok := co.job.(*Coroutine); ok {
			co.contexted = true
			return cx.Canceled()
		}
	}
	return cx.task.state.addContext()
}

// abort ends the context of a task, or of a function within it, because the task is due to end.
func (cs *taskContexts) abort(key any, generation uint64) {
	cs.mu.Lock()
	c := cs.m[key]
	if c == nil || c.generation != generation || c.ctx == nil {
		cs.mu.Unlock()
		return
	}
	c.aborted = true
	cs.mu.Unlock()
	c.end(ErrCanceled)
}

// end is called when the task, or the function within it, has ended.
func (cs *taskContexts) end(key any) {
	cs.mu.Lock()
	c := cs.m[key]
	delete(cs.m, key)
	cs.mu.Unlock()
	if c != nil {
		c.end(context.Canceled)
	}
}

// close ends all contexts, including future ones.
func (cs *taskContexts) close() {
	cs.mu.Lock()
	cs.closed = true
	all := slices.Collect(maps.Values(cs.m))
	cs.mu.Unlock()
	for _, c := range all {
		c.end(ErrClosed)
	}
}

// lowered is called after a shield of the task has ended. ends: the task is due to end now.
func (t *Task) lowered(co *coroutine, ends bool) {
	if ends {
		t.rt.contexts.abort(t, t.generation())
	}
	canceled := co != nil && co.cx.task == t && co.canceled && co.contexted
	if canceled && t.state.word.Load()&shieldMask == 0 {
		t.rt.contexts.abort(co.job, t.generation())
	}
}
