// Package debuglog has the loggers that the environment variable SUIRO_DEBUG asks for. It lists
// areas with commas between them, such as sched,io.
package debuglog

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
)

// Variable is the environment variable.
const Variable = "SUIRO_DEBUG"

// The areas.
const (
	Sched = "sched" // what workers do with tasks
	IO    = "io"    // operations of reactors and their completions
	Conn  = "conn"  // events of connections
)

// Labels is a word of Variable that is no area: profiles have labels.
const Labels = "labels"

var areas = []string{Sched, IO, Conn}

// For returns the logger of an area, or nil if Variable does not name it. That is to if it takes
// debug lines, else one that writes lines to the standard error. to may be nil.
func For(area string, to *slog.Logger) *slog.Logger { return choose(area, to, os.Stderr) }

func choose(area string, to *slog.Logger, fallback io.Writer) *slog.Logger {
	if !slices.Contains(Asked(), area) {
		return nil
	}
	if to != nil && to.Enabled(context.Background(), slog.LevelDebug) {
		return to
	}
	return slog.New(slog.NewTextHandler(fallback, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Asked lists the words of Variable.
func Asked() []string {
	return strings.FieldsFunc(os.Getenv(Variable), func(r rune) bool { return r == ',' || r == ' ' })
}

// Unknown returns a word of Variable that has no meaning, or "".
func Unknown() string {
	for _, word := range Asked() {
		if !slices.Contains(areas, word) && word != Labels {
			return word
		}
	}
	return ""
}
