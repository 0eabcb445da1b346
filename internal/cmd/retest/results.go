package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// A name is that of a top-level test of a package, or of the package if Test is empty.
type name struct{ Package, Test string }

// The states of a test.
const (
	running  = "" // It has begun, and there is no more of it.
	passed   = "pass"
	failed   = "fail"
	skipped  = "skip"
	deferred = "deferred" // It has skipped itself, to run alone.
)

// alonePhrase begins the reason for which patience.Alone skips.
const alonePhrase = "it runs alone, later"

// A result is that of one test, with its subtests, or of one package.
type result struct {
	state   string
	passes  int // of the test itself, with -count
	seconds float64
	text    strings.Builder
}

// results are those of one run of go test.
type results struct {
	all    map[name]*result
	order  []name // in which they began
	builds strings.Builder
	failed bool // go test's exit status was not 0
	stderr string
}

func newResults() *results { return &results{all: make(map[name]*result)} }

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// read collects the events of a run until its end.
func read(in io.Reader) (*results, error) {
	r := newResults()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				r.take(e)
			} else {
				r.builds.Write(line) // go test prints errors without a package as they are
			}
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *results) take(e event) {
	if e.Action == "build-output" {
		r.builds.WriteString(e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	test, _, isSub := strings.Cut(e.Test, "/")
	res := r.of(name{e.Package, test})
	switch e.Action {
	case "output":
		res.text.WriteString(e.Output)
	case "pass", "fail", "skip":
		if isSub {
			return
		}
		res.seconds += e.Elapsed
		if e.Action == passed {
			res.passes++
		}
		if e.Action == skipped && strings.Contains(res.text.String(), alonePhrase) {
			res.state = deferred
		} else if res.state != failed { // with -count, one failure is enough
			res.state = e.Action
		}
	}
}

func (r *results) of(n name) *result {
	res := r.all[n]
	if res == nil {
		res = new(result)
		r.all[n] = res
		r.order = append(r.order, n)
	}
	return res
}

// add takes over the results of another run.
func (r *results) add(other *results) {
	for _, n := range other.order {
		if r.all[n] == nil {
			r.order = append(r.order, n)
		}
		r.all[n] = other.all[n]
	}
	r.builds.WriteString(other.builds.String())
	r.failed = r.failed || other.failed
	r.stderr += other.stderr
}

// ofState lists the tests, not packages, in a state.
func (r *results) ofState(state string) []name {
	return slices.DeleteFunc(slices.Clone(r.order), func(n name) bool { return n.Test == "" || r.all[n].state != state })
}

func (r *results) passes(n name) int {
	if res := r.all[n]; res != nil {
		return res.passes
	}
	return 0
}

func (r *results) output(n name) string {
	if res := r.all[n]; res != nil {
		return res.text.String()
	}
	return ""
}
