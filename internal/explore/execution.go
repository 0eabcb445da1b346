package explore

import (
	"fmt"
	"unsafe"
)

// An Execution is one run of a scenario.
type Execution struct {
	options Options
	pool    *pool
	trace   *trace // nil: nobody will read it
	threads []*thread
	always  func()
	finally func()

	choices     []choice
	at          int // the next of choices
	steps       int
	preemptions int
	asleep      set     // what they do next was tried before, and nothing since has had to do with it
	target      *thread // the next to run; nil: none
	yielded     bool    // some thread has: be fair from now on
	aside       bool    // shims act plainly
	over        bool    // threads are to unwind
	cut         bool
	failure     string
}

// Go starts a thread. What it does before its first operation on a shim must not
// concern other threads. Only the scenario's function may call it.
func (x *Execution) Go(name string, f func()) {
	th := x.pool.thread(len(x.threads))
	*th = thread{x: x, id: len(x.threads), name: name, f: f, resume: th.resume, stop: th.stop, yield: th.yield}
	th.scheduled = allThreads
	x.threads = append(x.threads, th)
}

// Always gives a check to be run after every step, with shims that act plainly.
func (x *Execution) Always(f func()) { x.always = f }

// Finally gives a check to be run when the threads have ended.
func (x *Execution) Finally(f func()) { x.finally = f }

// unwind is the panic that ends a thread before its time.
type unwind struct{}

// Failf ends the execution. It does not return. A thread or a check calls it
// and not what testing has, which would end the wrong goroutine.
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

// Step is an operation like those of the shims, on something of the scenario's
// own that threads share; at says on what, f does it. Only threads call it.
func Step[T any](x *Execution, what string, at *T, f func()) {
	th := enter(unsafe.Pointer(at), writing)
	x.plainly(f)
	th.leave(func() string { return what })
}

// Wait is a Step that a thread can take only when the condition holds.
func Wait[T any](x *Execution, what string, at *T, condition func() bool, f func()) {
	x.wait(what, unsafe.Pointer(at), condition, f, false)
}

// Rest is a Wait that may be left waiting: an execution ends when every thread
// has ended or rests.
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

// Yield lets others go on before a thread that can do nothing better than try
// again. The search takes it that they do: schedules in which others that could
// do so never go on while this one tries again and again are not visited.
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

// plainly runs f with shims that act plainly.
func (x *Execution) plainly(f func()) {
	x.aside = true
	f()
	x.aside = false
}

// run is one schedule: the choices so far, and the first of each after them.
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

// protect makes a panic the execution's failure.
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
