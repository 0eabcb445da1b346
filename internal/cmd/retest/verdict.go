package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A failure is a test that has failed, and what it printed.
type failure struct {
	name
	output string
}

// words are the first words of a failure, without go test's own.
func (f failure) words() string {
	var b strings.Builder
	for line := range strings.Lines(f.output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		b.WriteString(strings.Join(strings.Fields(line), " ") + " ")
		if b.Len() > 300 {
			break
		}
	}
	s := strings.TrimSpace(b.String())
	return s[:min(len(s), 300)]
}

// A verdict is what a run was worth.
type verdict struct {
	grave    []string // faults that no second run excuses
	failures []failure
	flakes   []failure
	passed   int
	alone    int
	slowest  []string
}

func (v *verdict) ok() bool { return len(v.grave) == 0 && len(v.failures) == 0 }

// grave is text that only a fault of the program or of a test prints, whatever the machine does. A
// test that hangs ends in a panic: of go test's -timeout, or of conntest.Guard.
var grave = regexp.MustCompile(`(?m)^((WARNING: DATA RACE|panic: |fatal error: ).*|.*(goroutines left: |descriptors left:|goroutines outlived ).*)$`)

// race is a report of the race detector.
var race = regexp.MustCompile(`(?ms)^={18}\nWARNING: DATA RACE\n.*?^={18}$`)

// judge looks for failures in the run of all tests, and in the run of those that ran alone.
func judge(first, alone *results) verdict {
	v := verdict{
		passed: len(first.ofState(passed)) + len(alone.ofState(passed)),
		alone:  len(alone.ofState(passed)) + len(alone.ofState(failed)),
	}
	for _, r := range []*results{first, alone} {
		if !r.failed {
			continue
		}
		blamed := make(map[string]bool) // packages with a failed test
		for _, n := range r.order {
			if n.Test != "" && (r.all[n].state == failed || r.all[n].state == running) {
				blamed[n.Package] = true
				if r.all[n].state == running {
					v.grave = append(v.grave, n.Package+": "+n.Test+" did not end\n"+tail(r.output(n)))
				} else {
					v.failures = append(v.failures, failure{n, r.output(n)})
				}
			}
			if r.all[n].state == passed || r.all[n].state == skipped {
				for _, report := range race.FindAllString(r.output(n), 3) { // outside of the test, whose output is the last before it
					v.grave = append(v.grave, n.Package+": a race during "+n.Test+"\n"+indent(report))
				}
				continue
			}
			for _, found := range grave.FindAllString(r.output(n), 3) {
				v.grave = append(v.grave, strings.TrimSuffix(n.Package+": "+n.Test, ": ")+": "+strings.TrimSpace(found))
			}
		}
		for _, n := range r.order {
			if n.Test == "" && r.all[n].state == failed && !blamed[n.Package] {
				v.grave = append(v.grave, n.Package+": fails, but no test of it does\n"+tail(r.output(n)))
			}
		}
		if r.builds.Len() > 0 {
			v.grave = append(v.grave, r.builds.String())
		}
		if len(v.failures) == 0 && len(v.grave) == 0 {
			v.grave = append(v.grave, "go test failed: "+r.stderr)
		}
	}
	if n := len(v.failures); n > mostFlakes {
		v.grave = append(v.grave, fmt.Sprintf("%d tests failed: too many to run each again", n))
	}
	if v.passed == 0 && len(v.grave) == 0 {
		v.grave = append(v.grave, "no test has passed: are these the packages?")
	}
	v.slowest = slowest(first)
	return v
}

// slowest lists the five packages that took longest.
func slowest(r *results) (all []string) {
	packages := slices.DeleteFunc(slices.Clone(r.order), func(n name) bool { return n.Test != "" })
	slices.SortFunc(packages, func(a, b name) int { return cmp.Compare(r.all[b].seconds, r.all[a].seconds) })
	for _, n := range packages[:min(5, len(packages))] {
		all = append(all, fmt.Sprintf("%s %.0f s", n.Package[strings.LastIndexByte(n.Package, '/')+1:], r.all[n].seconds))
	}
	return all
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// print ends with one line of counts.
func (v *verdict) print(out io.Writer, took time.Duration) {
	for _, f := range v.failures {
		_, _ = fmt.Fprintf(out, "FAILED: %s %s\n%s\n", f.Package, f.Test, indent(f.output))
	}
	for _, g := range v.grave {
		_, _ = fmt.Fprintf(out, "FAILED: %s\n", strings.TrimSpace(g))
	}
	for _, f := range v.flakes {
		_, _ = fmt.Fprintln(out, v.flake(f))
	}
	_, _ = fmt.Fprintf(out, "   longest: %s\n", strings.Join(v.slowest, ", "))
	_, _ = fmt.Fprintf(out, "   %d tests passed, %d of them alone, %d failed, %d flakes, %.0f s\n",
		v.passed+len(v.flakes), v.alone, len(v.failures), len(v.flakes), took.Seconds())
}

func (v *verdict) flake(f failure) string {
	return fmt.Sprintf("FLAKE: %s %s failed, and passed %d times alone: %s", f.Package, f.Test, again, f.words())
}

// note appends the flakes to a file.
func (v *verdict) note(path string) error {
	if len(v.flakes) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	for _, flake := range v.flakes {
		if _, err := fmt.Fprintln(f, v.flake(flake)); err != nil {
			_ = f.Close()
			return err
		}
	}
	return f.Close()
}

// indent shows at most the first 100 and the last 60 lines of a failure.
func indent(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > 170 {
		dropped := fmt.Sprintf("… %d lines more, in build/ …", len(lines)-160)
		lines = slices.Concat(lines[:100], []string{dropped}, lines[len(lines)-60:])
	}
	return "   " + strings.Join(lines, "\n   ")
}
