package sched

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/suiro-go/suiro/internal/dumptext"
)

// A survey counts spawned tasks by their state, and those that wait by what they wait for.
type survey struct {
	running, queued, stackful int
	futures                   map[string]int // stackless tasks that wait, by the type of their future
}

// survey adds the tasks of this type. It reports false if the depot's lock could not be taken.
func (d *depot[T]) survey(text *dumptext.Text, s *survey) bool {
	if !text.Lock(&d.mu) {
		return false
	}
	slabs := slices.Clone(d.slabs)
	d.mu.Unlock()
	for _, slab := range slabs {
		for i := range slab {
			slab[i].survey(s)
		}
	}
	return true
}

func (c *cell[T]) survey(s *survey) {
	word := c.task.state.word.Load()
	switch word & lifecycleMask {
	case stateRunning:
		s.running++
	case stateScheduled:
		s.queued++
	case stateIdle:
		future := ""
		switch ok := c.depot.rt.Inspect(&c.task, func() {
			if c.fn == nil {
				future = fmt.Sprintf("%T", c.future)
			}
		}); {
		case !ok: // it runs by now
			s.running++
		case future == "":
			s.stackful++
		default:
			s.futures[future]++
		}
	}
}

// dumpWaits groups the tasks that wait.
func (rt *Runtime) dumpWaits(text *dumptext.Text, stacks *stackTexts) {
	s := survey{futures: make(map[string]int)}
	if !rt.survey(text, &s) {
		text.Linef(1, "tasks: some are not counted: busy")
	}
	waiting := s.stackful
	for _, n := range s.futures {
		waiting += n
	}
	text.Linef(1, "spawned tasks: %d run, %d are queued, %d wait", s.running, s.queued, waiting)
	listCounts(text, "stackless, future %s", s.futures)
	functions := make(map[string]int)
	for id := range stacks.coroutines {
		if one := stacks.byID[id]; one != nil {
			if where := waitsIn(one.text); where != "" {
				functions[where]++
			}
		}
	}
	if len(functions) > 0 {
		text.Linef(1, "functions that wait, of tasks and sequential handlers:")
		listCounts(text, "%s", functions)
	}
}

func (rt *Runtime) survey(text *dumptext.Text, s *survey) bool {
	if !text.Lock(&rt.depots.mu) {
		return false
	}
	all := slices.Collect(maps.Values(rt.depots.byType))
	rt.depots.mu.Unlock()
	whole := true
	for _, d := range all {
		whole = d.survey(text, s) && whole
	}
	return whole
}

// listCounts lists names, the most frequent ones first.
func listCounts(text *dumptext.Text, format string, counts map[string]int) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		if i == mostWaitsListed {
			text.Linef(2, "... and %d more groups", len(names)-i)
			return
		}
		text.Linef(2, "%6d  "+format, counts[name], name)
	}
}

// waitsIn names the call in which a coroutine's function waits, and that function, as in
//
//	conn.(*Stream).Read, in main.serve
//
// Functions of this module around that of a user are not named. "": no function runs on the
// coroutine, or it does not wait.
func waitsIn(stack string) string {
	const here = module + "sched."
	if !strings.Contains(stack, here+"(*coroutine).suspend(") {
		return "" // it is free, or runs
	}
	call, function := "", ""
	for line := range strings.Lines(stack) {
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "created by ") {
			continue
		}
		i := strings.LastIndexByte(line, '(')
		if i <= 0 {
			continue
		}
		name := line[:i]
		switch {
		case strings.HasPrefix(name, here+"(*coroutine).work"):
			if call == "" {
				return "sched.Await"
			}
			if call == function {
				return shortName(call)
			}
			return shortName(call) + ", in " + shortName(function)
		case strings.HasPrefix(name, here+"(*coroutine)."), strings.HasPrefix(name, here+"(*cell["), strings.HasPrefix(name, "iter."),
			strings.HasPrefix(name, "runtime."), strings.HasPrefix(name, here+"Suspension."):
		case strings.HasPrefix(name, here):
			if call == "" {
				call = name
			}
		default:
			if call == "" || strings.HasPrefix(call, here+"Await") {
				call = name
			}
			if !ofModule(name) || ofModule(function) || function == "" {
				function = name
			}
		}
	}
	return ""
}

const module = "github.com/suiro-go/suiro/"

// ofModule reports whether the function belongs to a package of this module that is no test.
func ofModule(name string) bool {
	return strings.HasPrefix(name, module) && !strings.Contains(name, "_test.")
}

// shortName is a function's name without the path of its package.
func shortName(name string) string {
	args := strings.IndexByte(name, '[')
	if args < 0 {
		args = len(name)
	}
	return name[strings.LastIndexByte(name[:args], '/')+1:]
}
