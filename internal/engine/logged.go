package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/suiro-go/suiro/reactor"
)

// A logged reactor logs the operations that it is given, and their completions: SUIRO_DEBUG=io.
// Calls that tasks make on descriptors themselves do not pass here.
type logged struct {
	reactor.Reactor
	log    *slog.Logger
	worker int
}

// Logged returns the reactor of a worker with a log.
func Logged(r reactor.Reactor, worker int, log *slog.Logger) reactor.Reactor {
	return &logged{r, log, worker}
}

// Carrier implements reactor.Reactor for runners that are logged too.
func (l *logged) Carrier(runner reactor.Reactor) reactor.Reactor {
	inner := runner
	if other, ok := runner.(*logged); ok {
		inner = other.Reactor
	}
	if l.Reactor.Carrier(inner) == inner {
		return runner
	}
	return l
}

// Submit implements reactor.Reactor.
func (l *logged) Submit(op *reactor.Op) error {
	kind, target, fd, token, bytes := op.Kind, op.Target, op.FD, op.Token, len(op.Buf)
	err := l.Reactor.Submit(op)
	attrs := append(l.attrs(kind, token), slog.Int("fd", fd))
	if kind == reactor.Cancel {
		attrs = append(attrs, slog.String("target", target.String()))
	}
	if bytes > 0 {
		attrs = append(attrs, slog.Int("bytes", bytes), slog.Int("sent", op.Sent))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	l.log.LogAttrs(context.Background(), slog.LevelDebug, "io: submit", attrs...)
	return err
}

// Poll implements reactor.Reactor.
func (l *logged) Poll(out []reactor.Completion, wait time.Duration, hold bool) (int, error) {
	n, err := l.Reactor.Poll(out, wait, hold)
	l.completed("io: completion", out[:n])
	return n, err
}

// Rescue implements reactor.Reactor.
func (l *logged) Rescue(out []reactor.Completion) (int, error) {
	n, err := l.Reactor.Rescue(out)
	l.completed("io: rescued completion", out[:n])
	return n, err
}

func (l *logged) completed(message string, all []reactor.Completion) {
	for i := range all {
		c := &all[i]
		attrs := append(l.attrs(c.Kind, c.Token), slog.Int("res", c.Res), slog.Bool("more", c.More))
		if errno := c.Errno(); errno != 0 {
			attrs = append(attrs, slog.String("error", errno.Error()))
		}
		l.log.LogAttrs(context.Background(), slog.LevelDebug, message, attrs...)
	}
}

// attrs are the worker whose reactor it is, the operation, and the target's token.
func (l *logged) attrs(kind reactor.Kind, token reactor.Token) []slog.Attr {
	return append(make([]slog.Attr, 0, 6), slog.Int("reactor", l.worker), slog.String("op", kind.String()), slog.String("token", fmt.Sprintf("%#x", uint64(token))))
}
