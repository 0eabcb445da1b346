package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// defaultLogger writes to the standard error, from warnings up.
func defaultLogger() *slog.Logger { return lineLogger(os.Stderr) }

// lineLogger is zerolog in its form for people: one line for each record, and below it the stack of
// a panic.
func lineLogger(w io.Writer) *slog.Logger {
	out := zerolog.ConsoleWriter{Out: w, NoColor: true, TimeFormat: time.RFC3339, FieldsExclude: []string{"stack"}, FormatExtra: formatStack}
	return slog.New(textValues{zerolog.NewSlogHandler(zerolog.New(out).Level(zerolog.WarnLevel).With().Timestamp().Logger())})
}

func formatStack(fields map[string]any, out *bytes.Buffer) error {
	if stack, ok := fields["stack"].(string); ok {
		out.WriteString("\n" + strings.TrimSpace(stack))
	}
	return nil
}

// textValues passes addresses and durations to zerolog as text. zerolog writes types that it does
// not know as JSON.
type textValues struct{ slog.Handler }

// Handle implements slog.Handler.
func (h textValues) Handle(ctx context.Context, r slog.Record) error {
	text := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		text.AddAttrs(asText(a))
		return true
	})
	return h.Handler.Handle(ctx, text)
}

// WithAttrs implements slog.Handler.
func (h textValues) WithAttrs(attrs []slog.Attr) slog.Handler {
	text := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		text[i] = asText(a)
	}
	return textValues{h.Handler.WithAttrs(text)}
}

// WithGroup implements slog.Handler.
func (h textValues) WithGroup(name string) slog.Handler {
	return textValues{h.Handler.WithGroup(name)}
}

func asText(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindDuration:
		return slog.String(a.Key, v.Duration().String())
	case slog.KindGroup:
		text := make([]slog.Attr, len(v.Group()))
		for i, of := range v.Group() {
			text[i] = asText(of)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(text...)}
	case slog.KindAny:
		if _, ok := v.Any().(error); !ok {
			return slog.String(a.Key, fmt.Sprint(v.Any()))
		}
	}
	return a
}
