package conn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"runtime"
	"sync/atomic"
)

// Stats are a group's counts since NewGroup.
type Stats struct {
	// HandlerErrors are the errors that handlers returned and that ended a connection or
	// packet socket. The logger hears of each at debug level.
	HandlerErrors uint64

	// HandlerPanics are the panics of handlers. The logger hears of each at error level.
	HandlerPanics uint64
}

// handlerCounts are what Stats reports.
type handlerCounts struct{ errors, panics atomic.Uint64 }

// Stats is a snapshot. Any goroutine may call it.
func (g *Group) Stats() Stats {
	return Stats{HandlerErrors: g.handlers.errors.Load(), HandlerPanics: g.handlers.panics.Load()}
}

// handlerFailed counts and logs an error that a method of handler returned. closing says
// that the connection was being closed by then: net.ErrClosed is no news of such a one.
func (g *Group) handlerFailed(err error, handler any, closing bool, peer slog.Attr) {
	if closing && errors.Is(err, net.ErrClosed) {
		return
	}
	g.handlers.errors.Add(1)
	if log := g.cfg.Logger; log.Enabled(context.Background(), slog.LevelDebug) {
		log.LogAttrs(context.Background(), slog.LevelDebug, "conn: handler returned an error", peer, slog.String("handler", handlerName(handler)), slog.Any("error", err))
	}
}

// handlerPanicked counts and logs a panic of a method of handler.
func (g *Group) handlerPanicked(p *PanicError, handler any, peer slog.Attr) {
	g.handlers.panics.Add(1)
	g.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, "conn: handler panicked", peer,
		slog.String("handler", handlerName(handler)), slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
}

// handlerName is the handler's type, and of a sequential one its function.
func handlerName(handler any) string {
	switch h := handler.(type) {
	case *sequential:
		return runtime.FuncForPC(reflect.ValueOf(h.fn).Pointer()).Name()
	case *streamEvents:
		return "a function of Stream.Go"
	}
	return fmt.Sprintf("%T", handler)
}

// logAttr is the attribute that names the peer.
func (c *Conn) logAttr() slog.Attr { return slog.Any("remote", c.RemoteAddr()) }

// logAttr is the attribute that names the socket: it has many peers, or one that is connected.
func (c *PacketConn) logAttr() slog.Attr { return slog.Any("local", c.local) }
