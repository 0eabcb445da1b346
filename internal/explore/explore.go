package explore

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Unbounded stands for any number of preemptions.
const Unbounded = -1

// Options say how far a search goes.
type Options struct {
	// Preemptions bounds how often, in one schedule, a thread that could go on
	// has to wait while another does. A switch from one that ends, waits or
	// yields is free. Smaller numbers are searched first, so that what is
	// reported needs the fewest.
	//
	// Unbounded visits all schedules, except those which differ from one that
	// was visited only in the order of neighbouring operations that commute
	// (sleep sets). It takes for granted that threads share nothing but shims
	// and what they touch in Step and Wait, so it does not go with Plain.
	Preemptions int

	// Plain makes what a thread does after an operation, until the next, a step
	// of its own: for code that shares plain memory which its atomics guard.
	// Otherwise it comes together with the operation.
	Plain bool

	// Steps bounds a schedule's length; longer ones fail. 0: 2000.
	Steps int
}

// A Result is what a search found.
type Result struct {
	Schedules int    // run to their end, with the largest number of preemptions
	Cut       int    // given up because all that could follow had been visited
	Longest   int    // the largest number of steps
	Failure   string // what went wrong, and the schedule that led to it; "": nothing
}

// A TB is what is used of testing.TB.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Failed begins the report of every failure.
const Failed = "explore: failed: "

// Explore fails the test if any schedule of the scenario fails.
func Explore(t TB, o Options, scenario func(x *Execution)) {
	t.Helper()
	began := time.Now()
	r := Run(o, scenario)
	if r.Failure != "" {
		t.Fatalf("%s", r.Failure)
	}
	bound := "any number of preemptions"
	if o.Preemptions != Unbounded {
		bound = fmt.Sprintf("up to %d preemptions", o.Preemptions)
	}
	t.Logf("%d schedules (%d cut short) with %s, up to %d steps, in %v",
		r.Schedules, r.Cut, bound, r.Longest, time.Since(began).Round(time.Millisecond))
}

// alone lets one search run at a time.
var alone sync.Mutex

// Run searches and returns after the first failure.
func Run(o Options, scenario func(x *Execution)) Result {
	alone.Lock()
	defer alone.Unlock()
	if o.Plain && o.Preemptions == Unbounded {
		panic("explore: Plain needs a bound")
	}
	if o.Steps == 0 {
		o.Steps = 2000
	}
	var pool pool
	defer pool.close()
	if o.Preemptions == Unbounded {
		return search(o, scenario, &pool)
	}
	var r Result
	for most := range o.Preemptions + 1 {
		o.Preemptions = most
		if r = search(o, scenario, &pool); r.Failure != "" {
			break
		}
	}
	return r
}

// A choice is one of several threads that could have gone on.
type choice struct{ picked, of int }

func search(o Options, scenario func(x *Execution), p *pool) (r Result) {
	var choices []choice
	for {
		x := &Execution{options: o, pool: p, choices: choices}
		x.run(scenario)
		choices = x.choices
		r.Longest = max(r.Longest, x.steps)
		switch {
		case x.failure != "":
			r.Schedules++
			r.Failure = report(o, scenario, p, x, r.Schedules)
			return r
		case x.cut:
			r.Cut++
		default:
			r.Schedules++
		}
		for len(choices) > 0 && choices[len(choices)-1].picked+1 == choices[len(choices)-1].of {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			return r
		}
		choices[len(choices)-1].picked++
	}
}

// report runs a schedule again and writes down what happens.
func report(o Options, scenario func(x *Execution), p *pool, failed *Execution, number int) string {
	again := &Execution{options: o, pool: p, choices: failed.choices, trace: new(trace)}
	again.run(scenario)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\nschedule %d, %d preemptions:\n", Failed, failed.failure, number, failed.preemptions)
	again.trace.print(&b)
	return b.String()
}
