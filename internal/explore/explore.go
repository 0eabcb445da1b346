package explore

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Unbounded stands for any number of preemptions.
const Unbounded = -1

// Options set the bounds of a search.
type Options struct {
	// Preemptions is the largest number of preemptions in one schedule: a thread that could go on
	// has to wait while another one runs. A switch away from a thread that ends, waits or yields
	// does not count. Smaller numbers are searched first, so a reported schedule has the fewest
	// preemptions.
	//
	// Unbounded visits all schedules, but skips those that differ from a visited one only in the
	// order of neighboring operations that commute (sleep sets). It assumes that threads share
	// only shims and data that they use in Step and Wait. So it cannot be combined with Plain.
	Preemptions int

	// Plain makes a thread's code after an operation, until its next operation, a step of its own.
	// It is for code that shares plain memory guarded by atomics. Otherwise that code belongs to
	// the step of the operation.
	Plain bool

	// Steps is the largest number of steps of a schedule; a longer one fails. 0: 2000.
	Steps int
}

// A Result is the result of a search.
type Result struct {
	Schedules int    // schedules that ran to their end, with the largest number of preemptions
	Cut       int    // schedules that were cut short because all continuations had been visited
	Longest   int    // the largest number of steps
	Failure   string // the failure and its schedule; "": none
}

// A TB has the methods of testing.TB that are used.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Failed begins the report of every failure.
const Failed = "explore: failed: "

// Explore fails the test if any schedule of the scenario fails. In a short run a bound above one is
// lower by one.
func Explore(t TB, o Options, scenario func(x *Execution)) {
	t.Helper()
	if testing.Short() && o.Preemptions > 1 {
		o.Preemptions--
	}
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

// alone allows one search at a time.
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

// A choice is the choice of one of several threads that could have gone on.
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

// report runs a schedule again, and describes its steps.
func report(o Options, scenario func(x *Execution), p *pool, failed *Execution, number int) string {
	again := &Execution{options: o, pool: p, choices: failed.choices, trace: new(trace)}
	again.run(scenario)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\nschedule %d, %d preemptions:\n", Failed, failed.failure, number, failed.preemptions)
	again.trace.print(&b)
	return b.String()
}
