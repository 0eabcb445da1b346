package conn

import (
	"log/slog"
	"reflect"
	"runtime"
)

// Stats are a group's counts since NewGroup.
type Stats struct {
	// HandlerErrors are the errors that handlers returned and that ended a connection, a packet
	// socket or a session of one. The logger hears of each at debug level.
	HandlerErrors uint64

	// HandlerPanics are the panics of handlers. The logger hears of each at error level.
	HandlerPanics uint64
}

// Stats is a snapshot. Any goroutine may call it.
func (g *Group) Stats() Stats {
	return Stats{HandlerErrors: g.core.HandlerErrors(), HandlerPanics: g.core.HandlerPanics()}
}

// HandlerName implements engine.Named.
func (s *sequential) HandlerName() string {
	return runtime.FuncForPC(reflect.ValueOf(s.fn).Pointer()).Name()
}

// HandlerName implements engine.Named.
func (*streamEvents) HandlerName() string { return "a function of Stream.Go" }

// logAttr is the attribute that names the peer.
func (c *Conn) logAttr() slog.Attr { return slog.Any("remote", c.RemoteAddr()) }
