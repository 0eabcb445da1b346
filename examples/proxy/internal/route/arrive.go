package route

import (
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
)

// Introduced reports whether a PROXY header names the client of each connection.
func (r *Route) Introduced() bool { return len(r.ProxyFrom) > 0 }

// The bounds beyond which a client is refused.
const (
	BoundOfAll    = "max_connections"
	BoundOfSource = "max_per_source"
	BoundOfRoute  = "max_connections of the route"
)

// LogRefused logs that a client is refused because there are as many connections as the bound
// allows. Its lines are of one kind for each bound (log_rate).
func LogRefused(c *conn.Conn, bound string) {
	c.Group().Logger().Warn("proxy: connection refused beyond "+bound, "remote", c.RemoteAddr())
}

// A named is the handler of a connection whose PROXY header has come: it counts the connection
// for the client that this names, and then hands it to the inner handler.
type named struct {
	conn.Base
	inner conn.Handler
}

// OnOpen is the last callback that it has for a connection.
func (h *named) OnOpen(c *conn.Conn) error {
	if e, ok := conn.ValueOf[*limit.Entry](c); ok && !e.Identify(Source(c.RemoteAddr())) {
		e.Arrive() // it is refused, and no junk
		LogRefused(c, BoundOfSource)
		c.Abort()
		return nil
	}
	_ = c.SetHandler(h.inner)
	return h.inner.OnOpen(c)
}

// OnData is not called.
func (h *named) OnData(*conn.Conn) error { return nil }

// OnDrain is for a drain that began before the header came.
func (h *named) OnDrain(c *conn.Conn) { h.inner.OnDrain(c) }

// Arrive notes that a connection belongs to a route from now on, whose Admit counts it. It takes
// the value by which the front has known the connection.
func Arrive(c *conn.Conn) {
	if e, ok := conn.ValueOf[*limit.Entry](c); ok {
		e.Arrive()
		c.SetValue(nil)
	}
}
