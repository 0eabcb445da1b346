package gateway

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/server"
)

// A lease is a connection to an upstream, for one exchange.
type lease struct {
	handle conn.Handle
	conn   net.Conn
	pool   *server.Pool
	socket *conn.Socket // conn, or beneath it if that is a *tls.Conn
	reused bool         // it has waited in the pool, and may have ended there unnoticed
}

// borrow takes a connection from the pool.
func borrow(ctx context.Context, r *route.Route, to config.Address) (*lease, error) {
	h := &borrowed{got: make(chan *lease, 1)}
	pool := r.PoolOf(to)
	if _, err := pool.Get(ctx, to.Network(), to.Host, h); err != nil {
		return nil, err
	}
	l := <-h.got // OnOpen has been called
	if l == nil {
		return nil, net.ErrClosed
	}
	l.pool = pool
	return l, nil
}

// giveBack ends the use: a connection on which all has been said waits for the next exchange.
func (l *lease) giveBack(fine bool) {
	if fine && l.silent() {
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

// abort resets the connection, also while it is in use: that ends its reads and writes.
func (l *lease) abort() {
	_ = l.socket.SetLinger(0)
	_ = l.socket.Close()
}

// silent reports whether nothing more has come within TLS, which has to be seen before the
// connection is returned; without it Return sees for itself.
func (l *lease) silent() bool {
	if l.conn == net.Conn(l.socket) {
		return true
	}
	_ = l.conn.SetReadDeadline(long)
	n, err := l.conn.Read(make([]byte, 1))
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// borrowed is the handler of a pool's connection: it lends that to the exchange's goroutine.
type borrowed struct {
	conn.Base
	got chan *lease
}

// OnOpen lends.
func (h *borrowed) OnOpen(c *conn.Conn) error {
	l := lend(c)
	if l != nil {
		l.reused = waited.has(c.Handle())
	}
	h.got <- l
	return nil
}

// lend gives a connection to a goroutine; nil: it cannot be.
func lend(c *conn.Conn) *lease {
	if c.TLS() != nil {
		if t, s := c.LendTLS(); s != nil {
			return &lease{handle: c.Handle(), conn: t, socket: s}
		}
	} else if s := c.Lend(); s != nil {
		return &lease{handle: c.Handle(), conn: s, socket: s}
	}
	return nil
}

// OnData is not called.
func (h *borrowed) OnData(*conn.Conn) error { return nil }

// OnDrain leaves the end to the exchange.
func (h *borrowed) OnDrain(*conn.Conn) {}
