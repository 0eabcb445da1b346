package bubble

import (
	"runtime"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/panics"
)

// Outside runs f on a goroutine that belongs to no bubble, and returns when f has. A panic of f is
// the caller's, and so is a runtime.Goexit. Outside bubbles it is f().
func Outside(f func()) {
	if !In() {
		f()
		return
	}
	j := &job{f: f}
	j.done.Lock()
	attendant.take(j)
	j.done.Lock() // a Mutex and no channel: that would be the bubble's
	switch {
	case j.panicked != nil:
		panic(j.panicked)
	case j.exited:
		runtime.Goexit()
	}
}

// Call is Outside for an f that returns something.
func Call[T any](f func() T) (v T) {
	Outside(func() { v = f() })
	return v
}

type job struct {
	f        func()
	done     sync.Mutex // locked until f has returned
	panicked any
	exited   bool
}

func (j *job) run() {
	j.exited = true
	defer j.done.Unlock()
	if p := panics.Try(j.f); p != nil {
		j.panicked = p.Value
	}
	j.exited = false
}

// linger is how long the attendant waits for another job: to summon it costs a garbage collection.
const linger = 50 * time.Millisecond

var attendant attending

// attending is the attendant's side and its callers'. All is under mu.
type attending struct {
	mu   sync.Mutex
	jobs []*job
	here bool          // it runs, or is summoned
	came int           // how often one has begun: it may be gone again when its summoner looks
	held int           // calls of Hold that were not released: the attendant stays meanwhile
	bell chan struct{} // made by the attendant; nil until it runs
}

// take makes the attendant run j.
func (a *attending) take(j *job) {
	a.mu.Lock()
	a.jobs = append(a.jobs, j)
	summon := !a.here
	a.here = true
	before := a.came
	if a.bell != nil {
		select {
		case a.bell <- struct{}{}:
		default: // it has been rung
		}
	}
	a.mu.Unlock()
	if summon {
		a.summon(before)
	}
}

// summonings bounds the garbage collections that one summoning costs. One is enough, since
// runtime.GC sweeps before it returns; cleanups may run a little later. The clock stands still.
const summonings = 10000

// summon starts the attendant and returns when it has begun. Goroutines that inside ones start are
// inside; but cleanups run on goroutines of the runtime, and what those start is outside.
func (a *attending) summon(before int) {
	runtime.AddCleanup(&struct { // neither tiny nor without a pointer: it has memory of its own
		_ *byte
		_ [64]byte
	}{}, func(a *attending) { go a.attend() }, a)
	for range summonings {
		runtime.GC()
		for range 100 {
			runtime.Gosched()
			if a.cameSince(before) {
				return
			}
		}
	}
	panic("bubble: no cleanup of the garbage collector has run: Suiro's goroutines cannot be started " +
		"outside the bubble of testing/synctest")
}

func (a *attending) cameSince(before int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.came != before
}

// attend runs jobs, each on a goroutine of its own, so that none waits for another one.
func (a *attending) attend() {
	bell := make(chan struct{}, 1)
	a.mu.Lock()
	a.bell = bell
	a.came++
	a.mu.Unlock()
	for idle := time.NewTimer(linger); ; idle.Reset(linger) {
		for _, j := range a.due() {
			go j.run()
		}
		select {
		case <-bell:
		case <-idle.C:
			if a.leave() {
				return
			}
		}
	}
}

func (a *attending) due() []*job {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.jobs
	a.jobs = nil
	return all
}

// Hold keeps the attendant, once it is there, until release is called, once. It is for code that
// calls Outside for as long as it lives: so its calls cost no garbage collection after a pause.
func Hold() (release func()) {
	attendant.hold(1)
	return func() { attendant.hold(-1) }
}

func (a *attending) hold(n int) {
	a.mu.Lock()
	a.held += n
	a.mu.Unlock()
}

// leave has the next job summon another attendant, unless there is a job, or the attendant is held.
func (a *attending) leave() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.jobs) > 0 || a.held > 0 {
		return false
	}
	a.here, a.bell = false, nil
	return true
}
