// Package relay passes on bytes and datagrams, without understanding them.
package relay

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/hello"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// Streams are the connections of a listener, from one configuration to the next. The zero value is
// ready.
type Streams struct{ now atomic.Pointer[route.Table] }

// Follow replaces the table, also for connections without a route. It returns the handler of new
// connections. nil: the listener is closed, or is no listener of streams any more.
func (s *Streams) Follow(t *route.Table) conn.Handler {
	s.now.Store(t)
	if t == nil {
		return nil
	}
	return t.Any().Cover(&accepted{streams: s, entered: t.Any()})
}

// accepted is the handler of a client's connection: until it is spliced, and then of what a
// splice leaves to it.
type accepted struct {
	conn.Base
	streams *Streams
	entered *route.Route // by whose TLS and PROXY header it has come
}

var errNoRoute = errors.New("no route takes this connection")

// table is the newest table; nil: there is none for a connection that has come this way.
func (h *accepted) table() *route.Table {
	if t := h.streams.now.Load(); t != nil && t.Any().Admits(h.entered) {
		return t
	}
	return nil
}

// OnOpen chooses the route, unless that depends on the name that is asked for.
func (h *accepted) OnOpen(c *conn.Conn) error {
	t := h.table()
	switch {
	case t == nil:
		c.Abort()
		return nil
	case t.Names == nil:
		return begin(c, t.Rest)
	}
	return c.SetReadDeadline(c.Now().Add(t.Any().Header()))
}

// early is how much of a client's bytes may wait while an upstream is dialed. Up to that much is
// received, and not left to the kernel, since only a connection that is read notices a reset.
const early = 16 << 10

// OnData looks for that name. Without one, or if it is no TLS, the rest's route takes it.
// Nothing is read: the splice begins with all of it.
func (h *accepted) OnData(c *conn.Conn) error {
	if _, ok := conn.ValueOf[*session](c); ok {
		if c.Buffered() >= early {
			return c.PauseRead()
		}
		return nil
	}
	t := h.table()
	if t == nil {
		c.Abort()
		return nil
	}
	p, _ := c.Peek(-1)
	name, err := hello.ServerName(p)
	if errors.Is(err, hello.ErrIncomplete) {
		return nil
	}
	r := t.Find(name)
	if r == nil {
		c.Abort()
		return fmt.Errorf("server name %q: %w", name, errNoRoute)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return begin(c, r)
}

// OnEOF leaves the connection to the splice, or ends one that has not said whom it wants.
func (h *accepted) OnEOF(c *conn.Conn) error {
	if _, ok := conn.ValueOf[*session](c); !ok {
		return c.Close()
	}
	return nil
}

// OnDrain lets connections go on for as long as the proxy waits for them.
func (h *accepted) OnDrain(c *conn.Conn) {
	if _, ok := conn.ValueOf[*session](c); !ok {
		_ = c.Close()
	}
}

// OnClose is the client's end. The other end of a spliced connection ends as well.
func (h *accepted) OnClose(c *conn.Conn, err error) {
	if s, ok := conn.ValueOf[*session](c); ok {
		s.clientGone(err)
	}
}

// begin gives a connection its route.
func begin(c *conn.Conn, r *route.Route) error {
	route.Arrive(c)
	if !r.Admit() {
		route.LogRefused(c, route.BoundOfRoute)
		c.Abort()
		return nil
	}
	s := &session{route: r, client: c.Handle(), from: c.RemoteAddr(), source: route.Source(c.RemoteAddr()), header: r.Introduce(c), began: time.Now()}
	c.SetValue(s)
	if err := c.SetIdleTimeout(r.Idle()); err != nil {
		return err
	}
	return s.next(c)
}
