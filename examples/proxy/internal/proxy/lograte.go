package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A logLimiter is a slog.Handler that writes only so many lines of one message in a second: a flood
// of connections that fail must not become a flood of lines. Lines that it drops are counted, and
// the next line of their message that is written has their number, as the attribute dropped.
type logLimiter struct {
	slog.Handler
	*lines
}

// lines are what logLimiters made of each other share.
type lines struct {
	most int // in a second
	now  func() time.Time

	mu    sync.Mutex
	kinds map[string]*kind
}

// A kind is the lines of one message. Messages are constants of the program, so there are few.
type kind struct {
	second  int64
	written int // in that second
	dropped int // since a line was written
}

// limitLog is a logLimiter over h. 0: 10 lines of one message in a second. Negative: no bound.
func limitLog(h slog.Handler, most int) slog.Handler {
	switch {
	case most < 0:
		return h
	case most == 0:
		most = 10
	}
	return &logLimiter{h, &lines{most: most, now: time.Now, kinds: map[string]*kind{}}}
}

// Handle implements slog.Handler.
func (q *logLimiter) Handle(ctx context.Context, r slog.Record) error {
	dropped, write := q.admit(r.Message)
	if !write {
		return nil
	}
	if dropped > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("dropped", dropped))
	}
	return q.Handler.Handle(ctx, r)
}

// admit reports whether a line may be written, and how many were dropped before it.
func (l *lines) admit(message string) (dropped int, write bool) {
	second := l.now().Unix()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[message]
	if k == nil {
		k = new(kind)
		l.kinds[message] = k
	}
	if k.second != second {
		k.second, k.written = second, 0
	}
	if k.written >= l.most {
		k.dropped++
		return 0, false
	}
	k.written++
	dropped, k.dropped = k.dropped, 0
	return dropped, true
}

// WithAttrs implements slog.Handler.
func (q *logLimiter) WithAttrs(a []slog.Attr) slog.Handler {
	return &logLimiter{q.Handler.WithAttrs(a), q.lines}
}

// WithGroup implements slog.Handler.
func (q *logLimiter) WithGroup(name string) slog.Handler {
	return &logLimiter{q.Handler.WithGroup(name), q.lines}
}
