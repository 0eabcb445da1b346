package sched

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/suiro-go/suiro/internal/debuglog"
)

// With SUIRO_DEBUG=sched each event of a worker (see Event) is also a line of the log. The lines
// hang on the ring of events, which a worker then has without Config.Events too. So workers whose
// lines nobody asked for look at nothing more than they do without this file.

// newDebug returns the logger of the runtime's events, or nil.
func (cfg *Config) newDebug() *slog.Logger {
	if word := debuglog.Unknown(); word != "" {
		cfg.Logger.Warn("sched: SUIRO_DEBUG has an unknown word; use sched, io, conn and labels, with commas between them", "word", word)
	}
	log := debuglog.For(debuglog.Sched, cfg.Logger)
	if log != nil && cfg.Events <= 0 {
		cfg.Events = fewestEvents
	}
	return log
}

// debug logs an event, except for the beginning of a run: debugRun does that.
func (w *worker) debug(k EventKind, task uint64, n int) {
	if k == EventRun {
		return
	}
	attrs := make([]slog.Attr, 0, 3)
	attrs = append(attrs, slog.Int("worker", w.index))
	if task != 0 {
		attrs = append(attrs, slog.String("task", hex(task)))
	}
	if n != 0 {
		attrs = append(attrs, slog.Int("n", n))
	}
	w.events.log.LogAttrs(context.Background(), slog.LevelDebug, "sched: "+k.String(), attrs...)
}

// debugRun logs that a run of the task begins. The worker holds no lock.
func (w *worker) debugRun(t *Task) {
	handler, peer := t.describe("")
	w.events.log.LogAttrs(context.Background(), slog.LevelDebug, "sched: run", slog.Int("worker", w.index),
		slog.String("task", hex(t.EventID())), slog.String("handler", handler), slog.String("remote", peer))
}

// debugEntered logs that a run has begun by enter. The caller may hold locks, so nobody is asked
// what the task is called.
func (w *worker) debugEntered(t *Task) {
	w.events.log.LogAttrs(context.Background(), slog.LevelDebug, "sched: run within a poll", slog.Int("worker", w.index), slog.String("task", hex(t.EventID())))
}

func hex(task uint64) string { return fmt.Sprintf("%#x", task) }
