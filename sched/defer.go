package sched

// A Deferred is work that a task postpones until it waits, for example to send gathered bytes.
// BeforeWait must not wait and must not panic. It gets the context of the call of Defer.
type Deferred interface{ BeforeWait(cx *Context) }

// Defer makes d.BeforeWait run once: before the running function waits for the next time, and at
// its end at the latest. BlockInPlace runs it as well. It is for functions of Go and of a
// Coroutine; with another context BeforeWait runs at once.
func (cx *Context) Defer(d Deferred) {
	co := cx.coroutine
	if co == nil || !co.runs(cx) {
		d.BeforeWait(cx)
		return
	}
	co.deferred = append(co.deferred, d)
	co.cx.defers = true
}

// runDeferred does the deferred work. Its callers first check defers, which lies in the cache line
// of a switch.
func (co *coroutine) runDeferred() {
	for i := 0; i < len(co.deferred); i++ { // BeforeWait may defer another one
		d := co.deferred[i]
		co.deferred[i] = nil
		d.BeforeWait(co.cx)
	}
	co.deferred = co.deferred[:0]
	co.cx.defers = false
}
