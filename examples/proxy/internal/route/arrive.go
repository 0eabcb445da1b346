package route

import (
	"errors"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
)

var errTooMany = errors.New("the client that the PROXY header names has as many connections as it may have")

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

// identify counts a connection for the client that its PROXY header names.
func identify(c *conn.Conn, _ *proxyproto.Header) error {
	if e, ok := conn.ValueOf[*limit.Entry](c); ok && !e.Identify(Source(c.RemoteAddr())) {
		e.Arrive() // it is refused, and no junk
		return errTooMany
	}
	return nil
}

// Arrive notes that a connection belongs to a route from now on, whose Admit counts it. It takes
// the value by which the front has known the connection.
func Arrive(c *conn.Conn) {
	if e, ok := conn.ValueOf[*limit.Entry](c); ok {
		e.Arrive()
		c.SetValue(nil)
	}
}
