package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
)

// defaultLogger writes to the standard error, from warnings up.
func defaultLogger() *slog.Logger { return lineLogger(os.Stderr) }

// lineLogger writes for people: one line for each record, and below it the stack of a panic.
func lineLogger(w io.Writer) *slog.Logger {
	return slog.New(&lineHandler{out: w})
}

// A lineHandler writes the attributes as slog.TextHandler does. It makes one for each record: there
// are few.
type lineHandler struct {
	out  io.Writer // takes whole records, from any goroutine
	with []func(slog.Handler) slog.Handler
}

// Enabled implements slog.Handler.
func (*lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(text slog.Handler) slog.Handler { return text.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	return h.and(func(text slog.Handler) slog.Handler { return text.WithGroup(name) })
}

func (h *lineHandler) and(more func(slog.Handler) slog.Handler) slog.Handler {
	return &lineHandler{h.out, append(slices.Clip(h.with), more)}
}

// textHead is what a TextHandler writes before the attributes of a record that Handle makes.
const textHead = `level=WARN msg=""`

// Handle implements slog.Handler.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	attrs, stack := slog.NewRecord(time.Time{}, slog.LevelWarn, "", 0), ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stack" && a.Value.Kind() == slog.KindString {
			stack = strings.TrimSpace(a.Value.String()) + "\n"
		} else {
			attrs.AddAttrs(a)
		}
		return true
	})
	var written bytes.Buffer
	var text slog.Handler = slog.NewTextHandler(&written, nil)
	for _, with := range h.with {
		text = with(text)
	}
	if err := text.Handle(ctx, attrs); err != nil {
		return err
	}
	line := r.Level.String() + " " + r.Message + strings.TrimPrefix(written.String(), textHead) + stack
	if !r.Time.IsZero() {
		line = r.Time.Format(time.RFC3339) + " " + line
	}
	_, err := io.WriteString(h.out, line)
	return err
}
