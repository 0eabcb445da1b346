package explore

import (
	"fmt"
	"unsafe"
)

// An Execution is one run of a scenario.
type Execution struct {
	options Options
	pool    *pool
	trace   *trace // nil: no trace is needed
	threads []*thread
	always  func()
	finally func()

	choices     []choice
	at          int // index of the next choice
	steps       int
	preemptions int
	asleep      set     // threads whose next step was tried before, and no step since has affected it
	target      *thread // the thread to run next; nil: none
	yielded     bool    // some thread has yielded: be fair from now on
	aside       bool    // shims act as ordinary atomics
	over        bool    // threads must unwind
	cut         bool
	failure     string
}

// Go starts a thread. Its code before its first operation on a shim must not affect other threads.
// Only the scenario's function may call it.
func (x *Execution) Go(name string, f func()) {
	th := x.pool.thread(len(x.threads))
	*th = thread{x: x, id: len(x.threads), name: name, f: f, resume: th.resume, stop: th.stop, yield: th.yield}
	th.scheduled = allThreads
	x.threads = append(x.threads, th)
}

// Always sets a check to run after every step. Shims act as ordinary atomics in it.
func (x *Execution) Always(f func()) { x.always = f }

// Finally sets a check to run when the threads have ended.
func (x *Execution) Finally(f func()) { x.finally = f }

// unwind is the panic that ends a thread early.
type unwind struct{}

// Failf fails the execution. It does not return. Threads and checks call it instead of methods of
// testing, which would end the wrong goroutine.
func (x *Execution) Failf(format string, args ...any) {
	x.fail(fmt.Sprintf(format, args...))
	panic(unwind{})
}

// Require is Failf unless ok.
func (x *Execution) Require(ok bool, format string, args ...any) {
	if !ok {
		x.Failf(format, args...)
	}
}

func (x *Execution) fail(what string) {
	if x.failure == "" {
		x.failure = what
	}
	x.over = true
}

// Step is an operation like those of the shims, on data of the scenario that threads share. at is
// the address of the data, and f is the operation. Only threads call it.
func Step[T any](x *Execution, what string, at *T, f func()) {
	th := enter(unsafe.Pointer(at), writing)
	x.plainly(f)
	th.leave(func() string { return what })
}

// Wait is a Step that a thread can take only when the condition holds.
func Wait[T any](x *Execution, what string, at *T, condition func() bool, f func()) {
	x.wait(what, unsafe.Pointer(at), condition, f, false)
}

// Rest is a Wait that need not end: an execution ends when every thread has ended or rests.
func Rest[T any](x *Execution, what string, at *T, condition func() bool, f func()) {
	x.wait(what, unsafe.Pointer(at), condition, f, true)
}

func (x *Execution) wait(what string, at unsafe.Pointer, condition func() bool, f func(), rests bool) {
	th := running.Load()
	if th.x.over {
		panic(unwind{})
	}
	th.waitsFor, th.rests, th.what = condition, rests, what
	enter(at, writing)
	th.waitsFor, th.rests = nil, false
	if f != nil {
		x.plainly(f)
	}
	th.leave(func() string { return what })
}

// Yield lets other threads go on, before a thread tries again. The search assumes that they do go
// on. It does not visit schedules in which other threads never go on, although they could, while
// this one tries again and again.
func (x *Execution) Yield() {
	if x.options.Preemptions == Unbounded {
		panic("explore: Yield needs a bound")
	}
	th := running.Load()
	if x.over {
		panic(unwind{})
	}
	th.yields, x.yielded = true, true
	enter(nil, nothing)
	th.yields = false
	th.leave(func() string { return "yields" })
}

// plainly runs f while shims act as ordinary atomics.
func (x *Execution) plainly(f func()) {
	x.aside = true
	f()
	x.aside = false
}

// run runs one schedule: the choices so far, and the first option of each later choice.
func (x *Execution) run(scenario func(x *Execution)) {
	scenario(x)
	x.target = x.schedule(nil)
	for x.target != nil {
		th := x.target
		x.target = nil
		running.Store(th)
		th.resume()
		running.Store(nil)
	}
	x.over = true
	for _, th := range x.threads {
		if th.begun && !th.ended {
			running.Store(th)
			th.resume()
			running.Store(nil)
		}
	}
	if x.failure == "" && !x.cut && x.finally != nil {
		x.protect(x.finally)
	}
	if x.at < len(x.choices) && x.failure == "" {
		panic("explore: a scenario did something else when it was run again")
	}
}

// protect makes a panic of f the execution's failure.
func (x *Execution) protect(f func()) {
	defer func() {
		switch v := recover().(type) {
		case nil, unwind:
		default:
			x.fail(fmt.Sprintf("panic: %v", v))
		}
	}()
	f()
}
