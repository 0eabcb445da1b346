package sched

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"
)

// slowReports limits how often a slow task is logged, and how often a stack is taken.
type slowReports struct {
	next   time.Duration // Runtime.Now at which the next report may be logged
	silent int           // reports that were not logged since the last one that was
}

const (
	reportEvery = time.Second

	// To take a stack stops the world and formats the stacks of all goroutines, 8 µs for each.
	mostGoroutines = 1000
	mostStacks     = 1 << 20 // bytes of their text
)

// report calls the hook, and logs. It runs on the goroutine of the look, without a lock.
func (s *slowWatch) report(r slowRun) {
	cfg := &s.rt.cfg
	if own, ok := r.task.body.(interface{ RunsOwnCode() bool }); ok && own.RunsOwnCode() {
		return // only an overloaded machine makes it slow, and blocking.Do would not help
	}
	info := SlowTask{Worker: r.worker.index, For: r.lasted, Waited: r.waited}
	logs, silent := s.mayLog()
	if logs {
		info.Stack = r.worker.stackOfRun(r.task)
	}
	info.Handler, info.Peer = r.task.describe(info.Stack)
	r.worker.slow.name.Store(s.handlers.reported(&info))
	if logs {
		cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, "sched: a task occupies its worker: use blocking.Do",
			slog.String("handler", info.Handler), slog.String("remote", info.Peer), slog.Int("worker", info.Worker),
			slog.Duration("for", info.For), slog.Duration("waited", info.Waited), slog.Int("not_logged", silent), slog.String("stack", info.Stack))
	}
	if cfg.Hooks.SlowTask == nil {
		return
	}
	if p := try(func() { cfg.Hooks.SlowTask(info) }); p != nil {
		s.rt.LogPanic("sched: a hook panicked", p)
	}
}

// mayLog reports whether this report is logged. If so, it returns how many reports before it were
// not.
func (s *slowWatch) mayLog() (logs bool, silent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, r := s.rt.Now(), &s.reports
	if now < r.next {
		r.silent++
		return false, 0
	}
	silent, r.silent = r.silent, 0
	r.next = now + reportEvery
	return true, silent
}

// describe names the running task. The data that it reads was written before the run began. The
// caller has seen the state word that the begin of the run stored.
func (t *Task) describe(stack string) (handler, peer string) {
	if t.spawned {
		return spawnedIn(stack), ""
	}
	if d, ok := t.body.(Describer); ok {
		return d.DescribeTask()
	}
	return fmt.Sprintf("%T", t.body), ""
}

// spawnedIn is the function that a task of Spawn or Go runs: the function that this package calls.
func spawnedIn(stack string) (name string) {
	const here = "github.com/suiro-go/suiro/sched."
	for line := range strings.Lines(stack) {
		switch {
		case strings.HasPrefix(line, here+"(*cell["):
			return name
		case strings.HasPrefix(line, here), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "goroutine "):
		default:
			if i := strings.LastIndexByte(line, '('); i > 0 {
				name = line[:i]
			}
		}
	}
	return ""
}

// stackOfRun is the stack of the goroutine on which the task runs: the worker's goroutine, or a
// coroutine. "": it was not found.
func (w *worker) stackOfRun(t *Task) string {
	if runtime.NumGoroutine() > mostGoroutines {
		return ""
	}
	return newStackTexts(mostStacks, w.rt.coroutines()).ofRun(w, t)
}
