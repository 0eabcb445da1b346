package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// An event is one of test2json.
type event struct{ Action, Test, Output string }

// A process is a run of a test binary.
type process struct {
	last   map[string]string // of each test: the last of run, pause, cont, pass, fail, skip
	output map[string]*strings.Builder
	failed bool // its exit status says so
}

// silence is how long a process may say nothing. No test of Go's is that long silent, so one
// hangs: the process is made to dump its goroutines, and ends.
// One that runs alone may be known to.
const silence, silenceAlone = 100 * time.Second, 45 * time.Second

// run runs some tests in a process of their own. raw gets all that it prints.
func (b *binary) run(ctx context.Context, mode, backend string, tests []string, raw io.Writer) (*process, error) {
	args := []string{"-test.v=test2json", "-test.parallel=2", "-test.timeout=20m", "-test.run=^(" + strings.Join(tests, "|") + ")$"}
	if *short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, b.file, args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "PWD="+b.dir, envMode+"="+mode, "SUIRO_BACKEND="+backend)
	cmd.WaitDelay = 10 * time.Second // children of a test may have its output
	tell, said := io.Pipe()
	cmd.Stdout, cmd.Stderr = said, said
	events := exec.Command("go", "tool", "test2json")
	events.Stdin, events.Stderr = tell, os.Stderr
	out, err := events.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := events.Start(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = said.CloseWithError(err)
		return nil, err
	}
	patience := silence
	if len(tests) == 1 {
		patience = silenceAlone
	}
	watchdog := time.AfterFunc(patience, func() {
		_, _ = fmt.Fprintf(said, "silent for %v\n", patience)
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	})
	defer watchdog.Stop()
	p := &process{last: map[string]string{}, output: map[string]*strings.Builder{}}
	go func() {
		p.failed = cmd.Wait() != nil
		_ = said.Close()
	}()
	for d := json.NewDecoder(io.TeeReader(out, raw)); ; {
		var e event
		if err := d.Decode(&e); err != nil {
			break
		}
		watchdog.Reset(patience)
		p.take(e)
	}
	if err := events.Wait(); err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	return p, ctx.Err()
}

func (p *process) take(e event) {
	switch e.Action {
	case "output":
		if p.output[e.Test] == nil {
			p.output[e.Test] = new(strings.Builder)
		}
		if o := p.output[e.Test]; o.Len() < 1<<20 {
			o.WriteString(e.Output)
		}
	case "run", "pause", "cont", "pass", "fail", "skip":
		p.last[e.Test] = e.Action
	}
}

// begun reports whether a test was running when the process ended.
func (p *process) begun(test string) bool { return p.last[test] == "run" || p.last[test] == "cont" }

func ended(action string) bool { return action == "pass" || action == "fail" || action == "skip" }
