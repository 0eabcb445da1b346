package explore

import (
	"fmt"
	"strings"
)

// A set is a set of threads.
type set uint8

const (
	maxThreads     = 8
	allThreads set = 1<<maxThreads - 1
)

func (s set) has(th *thread) bool { return s>>th.id&1 != 0 }
func only(th *thread) set         { return 1 << th.id }

// schedule picks the next thread; nil: none, the execution is over. from is the thread that has
// run, if any. It may have ended.
func (x *Execution) schedule(from *thread) *thread {
	if x.over {
		return nil
	}
	if x.always != nil && !x.holds() {
		return nil
	}
	if x.steps++; x.steps > x.options.Steps {
		x.fail(fmt.Sprintf("no end after %d steps: a livelock?", x.options.Steps))
		return nil
	}
	could := x.couldRun()
	if could == 0 {
		x.atRest()
		return nil
	}
	may := x.fair(from, could)
	goesOn := from != nil && may.has(from) && !from.yields
	unbounded := x.options.Preemptions == Unbounded
	if goesOn && !unbounded && x.preemptions == x.options.Preemptions {
		may = only(from)
	}
	if may &^= x.asleep; may == 0 {
		x.cut, x.over = true, true
		return nil
	}
	to := x.pick(from, may)
	if to == nil {
		return nil
	}
	if goesOn && to != from {
		x.preemptions++
	}
	x.ran(to, could)
	return to
}

// holds runs the check of Always.
func (x *Execution) holds() bool {
	x.aside = true
	x.protect(x.always)
	x.aside = false
	return !x.over
}

func (x *Execution) couldRun() (could set) {
	for _, th := range x.threads {
		if !th.ended && (th.waitsFor == nil || th.waitsFor()) {
			could |= only(th)
		}
	}
	return could
}

// atRest is called when no thread can go on.
func (x *Execution) atRest() {
	var stuck []string
	for _, th := range x.threads {
		if !th.ended && !th.rests {
			stuck = append(stuck, fmt.Sprintf("%s waits for: %s", th.name, th.what))
		}
	}
	if stuck != nil {
		x.fail("deadlock: " + strings.Join(stuck, ", "))
	}
	x.over = true
}

// pick makes the next choice, or repeats a recorded one. The options are: the thread that has run
// goes on, or one of the others in turn.
func (x *Execution) pick(from *thread, may set) *thread {
	var order [maxThreads]*thread
	n := 0
	if from != nil && may.has(from) {
		order[0], n = from, 1
	}
	for _, th := range x.threads {
		if th != from && may.has(th) {
			order[n] = th
			n++
		}
	}
	picked := 0
	if n > 1 {
		if x.at == len(x.choices) {
			x.choices = append(x.choices, choice{0, n})
		}
		c := x.choices[x.at]
		x.at++
		if c.of != n {
			panic("explore: a scenario did something else when it was run again")
		}
		picked = c.picked
	}
	to := order[picked]
	if x.options.Preemptions == Unbounded {
		// The next steps of the threads before it in order have been tried here. To do such a step
		// after this one has the same effect, unless this step affects it.
		for _, th := range order[:picked] {
			x.asleep |= only(th)
		}
		for _, th := range x.threads {
			if x.asleep.has(th) && !th.next.commutes(to.next) {
				x.asleep &^= only(th)
			}
		}
	}
	return to
}

// fair removes the threads that must wait because they have yielded (the rule of CHESS, Musuvathi
// and Qadeer 2008). A thread that yields again waits for certain other threads. These could have
// run all the time since it last yielded, and have not run.
func (x *Execution) fair(from *thread, could set) set {
	if !x.yielded {
		return could
	}
	if from != nil && from.yields {
		from.after |= from.able &^ from.scheduled &^ only(from)
		from.able, from.scheduled = could, 0
	}
	may := could
	for _, th := range x.threads {
		if th.after&could != 0 {
			may &^= only(th)
		}
	}
	if may == 0 {
		return could
	}
	return may
}

// ran records a step for fairness.
func (x *Execution) ran(to *thread, could set) {
	if !x.yielded {
		return
	}
	for _, th := range x.threads {
		th.scheduled |= only(to)
		th.able &= could
		th.after &^= only(to)
	}
}
