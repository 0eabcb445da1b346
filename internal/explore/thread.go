package explore

import (
	"iter"
	"sync/atomic"
	"unsafe"
)

// A thread is a coroutine and its next operation.
type thread struct {
	x    *Execution
	id   int
	name string
	f    func()

	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool

	begun, ended bool
	next         access
	what         string      // the name of the condition
	waitsFor     func() bool // the condition that it waits for; nil: none
	rests        bool
	yields       bool

	// For fairness: the threads that have run since its last yield, those that could have run all
	// that time, and those that must run before it does.
	scheduled, able, after set
}

// An access is a thread's next operation. Two accesses commute unless they use the same data and
// one of them changes it.
type access struct {
	at   unsafe.Pointer
	kind kind
}

type kind uint8

const (
	nothing kind = iota
	reading
	writing
)

func (a access) commutes(b access) bool {
	return a.kind == nothing || b.kind == nothing || a.at != b.at || a.kind == reading && b.kind == reading
}

// running is the thread that runs, if any.
var running atomic.Pointer[thread]

// enter is called before an operation: other threads may go on first. It returns nil if no thread
// makes the operation.
func enter(at unsafe.Pointer, k kind) *thread {
	th := running.Load()
	if th == nil || th.x.aside || th.x.over {
		return nil
	}
	th.next = access{at, k}
	th.point()
	return th
}

// leave is called after an operation.
func (th *thread) leave(what func() string) {
	if th == nil {
		return
	}
	if th.x.trace != nil {
		th.x.trace.add(th, what())
	}
	if th.x.options.Plain {
		th.next = access{}
		th.point()
	}
}

// point switches to the thread that the schedule picks.
func (th *thread) point() {
	x := th.x
	to := x.schedule(th)
	if to == th {
		return
	}
	x.target = to
	th.yield(struct{}{})
	if x.over {
		panic(unwind{})
	}
}

// main runs a thread's function in an execution.
func (th *thread) main() {
	x := th.x
	th.begun = true
	x.protect(th.f)
	th.ended = true
	if x.over {
		x.target = nil
		return
	}
	x.target = x.schedule(th)
}

// A pool keeps the coroutines for the next execution.
type pool struct{ threads []*thread }

func (p *pool) thread(id int) *thread {
	if id == maxThreads {
		panic("explore: too many threads")
	}
	if id == len(p.threads) {
		th := new(thread)
		th.resume, th.stop = iter.Pull(func(yield func(struct{}) bool) {
			th.yield = yield
			for yield(struct{}{}) {
				th.main()
			}
		})
		th.resume() // runs to the first yield
		p.threads = append(p.threads, th)
	}
	return p.threads[id]
}

func (p *pool) close() {
	for _, th := range p.threads {
		th.stop()
	}
}
