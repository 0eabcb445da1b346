// Retest runs go test, and then the tests that failed once more, each alone:
//
//	go run ./internal/cmd/retest -name plain -- -timeout 9m ./...
//
// The arguments behind "--" are those of go test; packages begin with "./". Its events are written
// to build/NAME.json.
//
// A test that fails, and then passes three times alone while nothing else runs, is a flake. It is
// printed and appended to build/flakes, and does not fail the run. These are never flakes:
//
//   - a data race, a panic, a fatal error, a hang, or a goroutine or descriptor that a test left
//   - a package that does not compile, or fails without a failed test
//   - more than five failed tests
//
// A test that calls patience.Alone skips itself in the first run. Retest runs it afterward, alone.
// The exit status is 1 if anything failed that is not a flake.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	mostFlakes = 5 // more failed tests than this are no accident
	again      = 3 // how often a failed test must pass alone
)

func main() {
	name := flag.String("name", "tests", "the name of the files in build/")
	flag.Parse()
	ok, err := run(os.Stdout, *name, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "retest:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// A runner runs go test with the same flags several times.
type runner struct {
	flags    []string // of go test, without packages
	packages []string
	log      io.Writer // of all events
}

// run tests, tests again, and prints the verdict to out.
func run(out io.Writer, name string, args []string) (ok bool, err error) {
	if err := os.MkdirAll("build", 0o777); err != nil {
		return false, err
	}
	log, err := os.Create(filepath.Join("build", name+".json"))
	if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }()
	r := runner{log: log}
	for _, arg := range args {
		if strings.HasPrefix(arg, "./") {
			r.packages = append(r.packages, arg)
		} else {
			r.flags = append(r.flags, arg)
		}
	}
	began := time.Now()
	first, err := r.test("later", r.packages...)
	if err != nil {
		return false, err
	}
	alone, err := r.alone(first)
	if err != nil {
		return false, err
	}
	v := judge(first, alone)
	if len(v.grave) == 0 {
		if err := r.retry(&v); err != nil {
			return false, err
		}
	}
	v.print(out, time.Since(began))
	return v.ok(), v.note(filepath.Join("build", "flakes"))
}

// test runs go test. alone is SUIRO_ALONE: what tests do that want to run alone.
func (r *runner) test(alone string, args ...string) (*results, error) {
	cmd := exec.Command("go", append(append([]string{"test", "-json"}, r.flags...), args...)...)
	cmd.Env = append(os.Environ(), "SUIRO_ALONE="+alone)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	res, err := read(io.TeeReader(stdout, r.log))
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("go test -json: %w", err)
	}
	res.failed = cmd.Wait() != nil
	res.stderr = stderr.String()
	return res, nil
}

// alone runs the tests that have skipped themselves because they want to run alone. Those of one
// package share a process, one after another.
func (r *runner) alone(first *results) (*results, error) {
	all := newResults()
	wanted := make(map[string][]string)
	for _, t := range first.ofState(deferred) {
		wanted[t.Package] = append(wanted[t.Package], t.Test)
	}
	for pkg, tests := range wanted {
		res, err := r.test("now", "-p", "1", "-parallel", "1", "-count", "1", "-run", pattern(tests...), pkg)
		if err != nil {
			return nil, err
		}
		all.add(res)
	}
	return all, nil
}

// retry runs each failed test alone, and counts it as a flake if it passes each time.
func (r *runner) retry(v *verdict) error {
	var left []failure
	for _, f := range v.failures {
		res, err := r.test("now", "-p", "1", "-parallel", "1", "-count", fmt.Sprint(again), "-run", pattern(f.Test), f.Package)
		if err != nil {
			return err
		}
		if !res.failed && res.passes(f.name) == again {
			v.flakes = append(v.flakes, f)
			continue
		}
		f.output += fmt.Sprintf("and alone, %d times:\n%s", again, res.output(f.name))
		left = append(left, f)
	}
	v.failures = left
	return nil
}

// pattern is the -run flag of some top-level tests.
func pattern(tests ...string) string { return "^(" + strings.Join(tests, "|") + ")$" }
