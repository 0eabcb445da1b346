package sched

import (
	"context"
	"maps"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/bubble"
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

// Err is nil until Done is closed. Then it is context.Canceled, or the error of the parent.
func (cx *Context) Err() error {
	if cx.made.Load() == nil && cx.coroutine != nil && cx.isHere() && !cx.isCanceled() && !cx.rt.contexts.closed.Load() {
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
	c := cx.made.Load()
	if cx.coroutine == nil && cx.worker != nil && cx.isHere() {
		c = cx.rt.contexts.ofTask(cx.task, cx.task.generationOf(cx.word))
	}
	if c != nil {
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

// make returns the context.Context of the task or the function that the context belongs to.
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
		cx.keep()
		return cx.parent()
	default:
		return cx.makeForPoll()
	}
}

// keep prevents that a goroutine's Context is used for another wait. Contexts were derived from it,
// and one of them might be that of the other wait.
func (cx *Context) keep() {
	if cx.coroutine == nil && cx.worker == nil && cx.isHere() {
		if b, ok := cx.task.body.(*blocker); ok {
			b.pooled = false
		}
	}
}

// taskContexts are the contexts of a runtime's tasks and of the functions within them, in a map. So
// tasks without a context need no memory for it.
//
// An abort and the making of a context are ordered by the task's state word. The maker stores the
// context here, sets contexted, and checks the word from before. If the task is due to end, it
// ends the context. An abort first sets canceled, and then checks contexted. So one of the two
// sees the other. A task that ends its last shield checks for both.
//
// The end of a function and the making of its context are ordered by Context.made, which changes
// once: the maker sets it to the context, or the end sets it to ended. If the maker was first, the
// end first ends the context, and then removes it from here. The maker stores no context that has
// ended. Both use the lock, so none stays.
type taskContexts struct {
	closed atomics.Bool // the lock guards its change
	mu     atomics.Mutex
	m      map[*Task]*taskContext
}

type taskContext struct {
	generation uint64   // of the task
	of         *Context // the function; nil: the stackless task itself
	ctx        context.Context
	cancel     context.CancelCauseFunc
	next       *taskContext // of the same task
}

// ended is the context of a function that has returned without having made one.
var ended = func() *taskContext {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &taskContext{ctx: ctx}
}()

// newTaskContext makes a context for the calling goroutine or task. If a goroutine in a bubble of
// testing/synctest asks for it, it must not become part of the bubble: workers outside end it.
func (cx *Context) newTaskContext(of *Context) *taskContext {
	c := &taskContext{generation: cx.task.generationOf(cx.word), of: of}
	parent := cx.parent()
	derive := func() { c.ctx, c.cancel = context.WithCancelCause(parent) }
	if cx.rt.inside || !bubble.In() {
		derive()
	} else {
		bubble.Outside(func() { derive(); c.ctx.Done() })
	}
	return c
}

// makeForFunction makes the context of a function. Any goroutine may call it. No user function is
// called under a lock, but contexts call some.
func (cx *Context) makeForFunction() context.Context {
	c := cx.newTaskContext(cx)
	if !cx.made.CompareAndSwap(nil, c) {
		c.cancel(nil)
		return cx.made.Load().ctx
	}
	cx.rt.contexts.put(cx.task, c)
	if cx.task.state.addContext(c.generation) {
		c.cancel(ErrCanceled)
	}
	cx.endIfCanceled()
	return c.ctx
}

// makeForPoll makes the context of the running stackless task, or returns it.
func (cx *Context) makeForPoll() context.Context {
	cs, t := &cx.rt.contexts, cx.task
	if c := cs.ofTask(t, t.generationOf(cx.word)); c != nil {
		return c.ctx
	}
	c := cx.newTaskContext(nil)
	cs.put(t, c)
	if t.state.addContext(c.generation) {
		c.cancel(ErrCanceled)
	}
	return c.ctx
}

// over ends the context of a function that has returned.
func (cx *Context) over() {
	if stop := cx.followed.stop; stop != nil {
		cx.followed = followed{}
		stop()
	}
	if !cx.made.CompareAndSwap(nil, ended) {
		if c := cx.made.Load(); c != ended {
			cause := causeOf(cx.task)
			if cx.canceled.Load() {
				cause = ErrCanceled
			}
			c.cancel(cause)
			cx.rt.contexts.remove(cx.task, c)
		}
	}
}

// endIfCanceled ends the context of a function of a Coroutine that was canceled, if there is one
// and no shield is up. Cancel sets canceled before it looks for the context. The maker of the
// context sets made before it looks at canceled.
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

func (cs *taskContexts) ofTask(t *Task, generation uint64) *taskContext {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := cs.m[t]; c != nil; c = c.next {
		if c.of == nil && c.generation == generation {
			return c
		}
	}
	return nil
}

func (cs *taskContexts) put(t *Task, c *taskContext) {
	cs.mu.Lock()
	if c.ctx.Err() == nil {
		if cs.m == nil {
			cs.m = make(map[*Task]*taskContext)
		}
		c.next = cs.m[t]
		cs.m[t] = c
	}
	closed := cs.closed.Load()
	cs.mu.Unlock()
	if closed {
		c.cancel(ErrClosed)
	}
}

func (cs *taskContexts) remove(t *Task, c *taskContext) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	first := cs.m[t]
	for at := &first; *at != nil; at = &(*at).next {
		if *at == c {
			*at = c.next
			break
		}
	}
	if first == nil {
		delete(cs.m, t)
	} else {
		cs.m[t] = first
	}
}

// abort ends the contexts of a task, and of functions within it, because the task is due to end.
func (cs *taskContexts) abort(t *Task, generation uint64) {
	cs.mu.Lock()
	var all []*taskContext
	for c := cs.m[t]; c != nil; c = c.next {
		if c.generation == generation {
			all = append(all, c)
		}
	}
	cs.mu.Unlock()
	for _, c := range all {
		c.cancel(ErrCanceled)
	}
}

// causeOf is the cause of the end of a task's contexts when the task, or a function of it, returns.
// After an abort that may be before the aborter ends them.
func causeOf(t *Task) error {
	if t.state.word.Load()&canceled != 0 {
		return ErrCanceled
	}
	return context.Canceled
}

// end is called when a task has ended.
func (cs *taskContexts) end(t *Task) {
	cs.mu.Lock()
	c := cs.m[t]
	delete(cs.m, t)
	cs.mu.Unlock()
	cause := causeOf(t)
	for ; c != nil; c = c.next {
		c.cancel(cause)
	}
}

// close ends all contexts, including future ones.
func (cs *taskContexts) close() {
	cs.mu.Lock()
	cs.closed.Store(true)
	var all []*taskContext
	for c := range maps.Values(cs.m) {
		for ; c != nil; c = c.next {
			all = append(all, c)
		}
	}
	cs.mu.Unlock()
	for _, c := range all {
		c.cancel(ErrClosed)
	}
}
