package sched

// A Local is a task-local value of type T: code that runs within its scope can read it, although
// it is not passed as an argument. (Tokio's task_local.) Declare one as a package variable. The
// zero value is a Local without a value. It must not be copied. Any number of tasks may use it
// concurrently.
//
//	var requestID sched.Local[string]
//
// A scope is that of a function (With) or of a future (Scoped). Scopes may be nested; the
// innermost one counts. Other tasks do not see the value: a task that is spawned within a scope
// begins without values. A scope within Join or Select covers only its branch.
type Local[T any] struct{ _ byte } // not of size 0, so that each has its own address

// A localScope is one value of a running task, and the scopes around it.
type localScope struct {
	local any // *Local[T]
	value any // *T
	outer *localScope
}

// scopes returns the place of the running task's or coroutine's innermost scope. A stackless task
// has no scope between two polls, so all stackless tasks of a worker share one place.
func (cx *Context) scopes() **localScope {
	switch {
	case cx.coroutine != nil:
		return &cx.coroutine.scopes
	case cx.worker != nil:
		return &cx.worker.scopes
	default:
		return &cx.task.body.(*blocker).scopes
	}
}

// Get is the value in the running task; false: the caller is not within a scope of this Local. It
// takes one step for each scope further in.
func (l *Local[T]) Get(cx *Context) (v T, ok bool) {
	for s := *cx.scopes(); s != nil; s = s.outer {
		if s.local == any(l) {
			return *s.value.(*T), true
		}
	}
	return v, false
}

// With calls fn with the value v, which lasts while fn runs and also while fn awaits. It is for
// stackful tasks, and for calls within a poll that do not wait. The value is removed when fn
// returns, panics, or is unwound because the task was aborted. The cost is two allocations.
func (l *Local[T]) With(cx *Context, v T, fn func()) {
	at := cx.scopes()
	outer := *at
	*at = &localScope{local: l, value: &v, outer: outer}
	defer func() { *at = outer }()
	fn()
}

// Scoped is f with the value v of a Local during each of its polls. Its result is that of f, and
// dropping it drops f. Cancel of f does not see the value, because it has no context.
func Scoped[T, V any](l *Local[V], v V, f Future[T]) Future[T] {
	mustHaveFuture(f)
	s := &scoped[T, V]{f: f, value: v}
	s.scope.local, s.scope.value = l, &s.value
	return s
}

type scoped[T, V any] struct {
	f     Future[T]
	value V
	scope localScope
}

func (s *scoped[T, V]) Poll(cx *Context) (T, error) {
	at := cx.scopes()
	s.scope.outer = *at
	*at = &s.scope
	defer func() { *at, s.scope.outer = s.scope.outer, nil }()
	return s.f.Poll(cx)
}

func (s *scoped[T, V]) Cancel() { abandon(s.f) }
