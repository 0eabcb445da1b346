package gateway

import (
	"context"
	"net"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/server"
)

// A lent is a connection to an upstream, for one exchange.
type lent struct {
	conn   net.Conn
	pool   *server.Pool // nil: it is not to be kept
	socket *conn.Socket
}

// borrow takes a connection from the pool; one over TLS is made for each exchange.
func borrow(ctx context.Context, r *route.Route, to config.Address) (*lent, error) {
	if to.Scheme == "tls" {
		c, err := r.Connect(ctx, to)
		if err != nil {
			return nil, err
		}
		return &lent{conn: c}, nil
	}
	h := &borrowed{socket: make(chan *conn.Socket, 1)}
	if _, err := r.Pool.GetContext(ctx, to.Network(), to.Host, h); err != nil {
		return nil, err
	}
	s := <-h.socket // OnOpen has been called
	if s == nil {
		return nil, net.ErrClosed
	}
	return &lent{conn: s, socket: s, pool: r.Pool}, nil
}

// giveBack ends the use: a connection on which all has been said waits for the next exchange.
func (l *lent) giveBack(fine bool) {
	if fine && l.pool != nil {
		_ = l.conn.SetDeadline(time.Time{})
		if l.socket.Return(func(c *conn.Conn) error {
			l.pool.Put(c)
			return nil
		}) {
			return
		}
	}
	_ = l.conn.Close()
}

// borrowed is the handler of a pool's connection: it lends that to the exchange's goroutine.
type borrowed struct {
	conn.Base
	socket chan *conn.Socket
}

// OnOpen lends.
func (h *borrowed) OnOpen(c *conn.Conn) error {
	h.socket <- c.Lend()
	return nil
}

// OnData is not called.
func (h *borrowed) OnData(*conn.Conn) error { return nil }

// OnDrain leaves the end to the exchange.
func (h *borrowed) OnDrain(*conn.Conn) {}
