package conn

import (
	"context"
	"log/slog"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/debuglog"
)

// eventsFor returns the events of the connections of a group. With SUIRO_DEBUG=conn they
// also log each call.
func eventsFor(log *slog.Logger) core.Events {
	if log = debuglog.For(debuglog.Conn, log); log != nil {
		return &loggedEvents{log: log}
	}
	return &events{}
}

// loggedEvents log each event before the handler gets it, and each error that the handler returns.
type loggedEvents struct {
	events
	log *slog.Logger
}

func (e *loggedEvents) event(c *core.Conn, name string, more ...slog.Attr) {
	attrs := append([]slog.Attr{slog.Uint64("id", uint64(c.Handle().Token)), slog.String("remote", c.Remote().String()),
		slog.String("handler", core.NameOf(c.Handler))}, more...)
	e.log.LogAttrs(context.Background(), slog.LevelDebug, "conn: "+name, attrs...)
}

func (e *loggedEvents) returned(c *core.Conn, name string, err error) error {
	if err != nil {
		e.event(c, name+" returned an error", slog.Any("error", err))
	}
	return err
}

func (e *loggedEvents) OnOpen(c *core.Conn) error {
	e.event(c, "open", slog.Bool("dialed", c.Is(core.Outbound)), slog.Int("worker", c.Worker()))
	return e.returned(c, "OnOpen", e.events.OnOpen(c))
}

func (e *loggedEvents) OnData(c *core.Conn) error {
	e.event(c, "data", slog.Int("unread", users(c).Buffered()), slog.Int("worker", c.Worker()))
	return e.returned(c, "OnData", e.events.OnData(c))
}

func (e *loggedEvents) OnEOF(c *core.Conn) error {
	e.event(c, "end of input")
	return e.returned(c, "OnEOF", e.events.OnEOF(c))
}

func (e *loggedEvents) OnWritable(c *core.Conn) error {
	e.event(c, "writable")
	return e.returned(c, "OnWritable", e.events.OnWritable(c))
}

func (e *loggedEvents) OnDeadline(c *core.Conn) error {
	e.event(c, "deadline")
	return e.returned(c, "OnDeadline", e.events.OnDeadline(c))
}

func (e *loggedEvents) OnDrain(c *core.Conn) {
	e.event(c, "drain")
	e.events.OnDrain(c)
}

func (e *loggedEvents) OnClose(c *core.Conn, err error) {
	e.event(c, "close", slog.Any("error", err))
	e.events.OnClose(c, err)
}
