package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A result is what all tests of a suite came to, in one mode on one backend.
type result struct {
	last   map[string]string
	output map[string]string
}

func (r *result) add(p *process) {
	for name, last := range p.last {
		if name != "" && ended(last) {
			r.last[name] = last
		}
		if o := p.output[name]; o != nil {
			r.output[name] = o.String()
		}
	}
}

// runAll runs each test of a suite to its end. If a test ends the process, the tests that were
// running are run again alone, and the tests that have not run go on without them.
func (b *binary) runAll(ctx context.Context, mode, backend string, list []known, raw io.Writer) (*result, error) {
	r := &result{last: map[string]string{}, output: map[string]string{}}
	var together, alone []string
	for _, name := range b.all {
		if slices.ContainsFunc(list, func(k known) bool { return k.alone && topOf(k.test) == name }) {
			alone = append(alone, name)
		} else {
			together = append(together, name)
		}
	}
	for len(together) > 0 {
		p, err := b.run(ctx, mode, backend, together, raw)
		if err != nil {
			return nil, err
		}
		r.add(p)
		left := slices.DeleteFunc(slices.Clone(together), func(name string) bool { return ended(p.last[name]) })
		suspects := slices.DeleteFunc(slices.Clone(left), func(name string) bool { return !p.begun(name) })
		if len(left) == len(together) && len(suspects) == 0 {
			return nil, fmt.Errorf("%s ended before any test: %v", b.pkg, p.output[""])
		}
		if len(left) == 0 && p.failed && !slices.Contains(slices.Collect(maps.Values(p.last)), "fail") {
			r.last["(end)"], r.output["(end)"] = "fail", p.output[""].String() // TestMain's own, as of a leak
		}
		alone = append(alone, suspects...)
		together = slices.DeleteFunc(left, func(name string) bool { return slices.Contains(suspects, name) })
	}
	for _, name := range alone {
		if err := b.runOne(ctx, mode, backend, name, r, raw); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// runOne is for a test that gets a process of its own.
func (b *binary) runOne(ctx context.Context, mode, backend, name string, r *result, raw io.Writer) error {
	p, err := b.run(ctx, mode, backend, []string{name}, raw)
	if err != nil {
		return err
	}
	r.add(p)
	if !ended(p.last[name]) {
		r.last[name] = "fail"
		var all strings.Builder
		for _, o := range p.output {
			all.WriteString(o.String())
		}
		r.output[name] = all.String()
	}
	return nil
}

// failures are the tests that failed by themselves, not by a subtest.
func (r *result) failures() (all []string) {
	for name, last := range r.last {
		if last != "fail" {
			continue
		}
		under := func(other string) bool { return strings.HasPrefix(other, name+"/") && r.last[other] == "fail" }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(r.last)), under) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (r *result) count(last string) (n int) {
	for _, l := range r.last {
		if l == last {
			n++
		}
	}
	return n
}

// A verdict is a result beside the list.
type verdict struct {
	unknown []string // failures that the list does not have
	passed  []known  // of the list, that do not fail
}

func evaluate(r *result, list []known) (v verdict) {
	failed := r.failures()
	for _, name := range failed {
		if !slices.ContainsFunc(list, func(k known) bool { return k.covers(name) }) {
			v.unknown = append(v.unknown, name)
		}
	}
	for _, k := range list {
		if !slices.ContainsFunc(failed, k.covers) {
			v.passed = append(v.passed, k)
		}
	}
	return v
}
