package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/suiro-go/suiro/sched"
)

// A Named handler says what it is called in the log, if that is not its type.
type Named interface{ HandlerName() string }

// HandlerErrors is how many errors HandlerFailed has counted.
func (g *Group) HandlerErrors() uint64 { return g.errors.Load() }

// HandlerPanics is how many panics HandlerPanicked has counted.
func (g *Group) HandlerPanics() uint64 { return g.panics.Load() }

// HandlerFailed counts and logs an error that a method of handler returned. closing says
// that the connection was being closed by then: net.ErrClosed says nothing new then.
func (g *Group) HandlerFailed(err error, handler any, closing bool, peer slog.Attr) {
	if closing && errors.Is(err, net.ErrClosed) {
		return
	}
	g.errors.Add(1)
	if log := g.Logger; log.Enabled(context.Background(), slog.LevelDebug) {
		log.LogAttrs(context.Background(), slog.LevelDebug, "conn: handler returned an error", peer, slog.String("handler", HandlerName(handler)), slog.Any("error", err))
	}
}

// HandlerPanicked counts and logs a panic of a method of handler.
func (g *Group) HandlerPanicked(p *sched.PanicError, handler any, peer slog.Attr) {
	g.panics.Add(1)
	g.Logger.LogAttrs(context.Background(), slog.LevelError, "conn: handler panicked", peer,
		slog.String("handler", HandlerName(handler)), slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
}

// HandlerName is what a handler is called in the log.
func HandlerName(handler any) string {
	if n, ok := handler.(Named); ok {
		return n.HandlerName()
	}
	return fmt.Sprintf("%T", handler)
}
