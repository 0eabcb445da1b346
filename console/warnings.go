package console

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Warnings is a slog.Handler that keeps the last warnings and errors for the page, and passes all
// records on. Make one with NewWarnings.
type Warnings struct {
	next slog.Handler
	kept *keptWarnings
	with []slog.Attr
}

type keptWarnings struct {
	mu  sync.Mutex
	all []warning // the oldest first
}

// mostWarnings and mostWarningText bound the memory of Warnings.
const (
	mostWarnings    = 100
	mostWarningText = 2000
)

type warning struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

// NewWarnings returns Warnings that pass records on to next:
//
//	warnings := console.NewWarnings(slog.Default().Handler())
//	s.Logger = slog.New(warnings)
func NewWarnings(next slog.Handler) *Warnings {
	return &Warnings{next: next, kept: &keptWarnings{}}
}

var _ slog.Handler = (*Warnings)(nil)

// Enabled implements slog.Handler.
func (w *Warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || w.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w *Warnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		w.kept.add(r, w.with)
	}
	if !w.next.Enabled(ctx, r.Level) {
		return nil
	}
	return w.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w *Warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := append(append([]slog.Attr(nil), w.with...), attrs...)
	return &Warnings{next: w.next.WithAttrs(attrs), kept: w.kept, with: with}
}

// WithGroup implements slog.Handler. The page shows attributes without their groups.
func (w *Warnings) WithGroup(name string) slog.Handler {
	return &Warnings{next: w.next.WithGroup(name), kept: w.kept, with: w.with}
}

func (k *keptWarnings) add(r slog.Record, with []slog.Attr) {
	var text strings.Builder
	text.WriteString(r.Message)
	put := func(a slog.Attr) bool {
		text.WriteString(" " + a.Key + "=" + a.Value.Resolve().String())
		return text.Len() < mostWarningText
	}
	for _, a := range with {
		put(a)
	}
	r.Attrs(put)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) == mostWarnings {
		k.all = append(k.all[:0], k.all[1:]...)
	}
	k.all = append(k.all, warning{r.Time, r.Level.String(), strings.ToValidUTF8(text.String()[:min(text.Len(), mostWarningText)], "�")})
}

// list is the warnings, the latest first.
func (w *Warnings) list() []warning {
	if w == nil {
		return nil
	}
	w.kept.mu.Lock()
	defer w.kept.mu.Unlock()
	all := make([]warning, 0, len(w.kept.all))
	for i := len(w.kept.all) - 1; i >= 0; i-- {
		all = append(all, w.kept.all[i])
	}
	return all
}
