package conntest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// A Log is a slog.Handler that keeps its records.
type Log struct {
	Level slog.Level // the lowest that is kept

	mu    sync.Mutex
	lines []string
}

var _ slog.Handler = (*Log)(nil)

// Logger is a logger that writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(l) }

// Enabled implements slog.Handler.
func (l *Log) Enabled(_ context.Context, level slog.Level) bool { return level >= l.Level }

// Handle implements slog.Handler.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Level.String() + " " + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, b.String())
	return nil
}

// WithAttrs implements slog.Handler; the attributes are not kept.
func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler; the group is not kept.
func (l *Log) WithGroup(string) slog.Handler { return l }

// Count is the number of lines that contain text.
func (l *Log) Count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// String is everything that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
