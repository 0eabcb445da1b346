package relay

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// A session is a client's connection and its way to an upstream. Its fields are the task's of
// the client's connection, but where they say otherwise.
//
// While an upstream is being dialed, little of what the client sends is received, and the kernel
// holds back the rest. Each dial either tells that it failed, and the next upstream is
// tried, or splices the two, after which neither handler has anything to do with bytes.
type session struct {
	route  *route.Route
	client conn.Handle
	from   net.Addr
	source netip.Addr
	header *proxyproto.Header
	began  time.Time

	tried   []*upstream.Upstream
	out     conn.Handle
	failure error // of the last dial

	spliced atomic.Bool // set by the upstream's task
	told    atomic.Bool // the log has been
}

// next dials the next upstream.
func (s *session) next(c *conn.Conn) error {
	for {
		u, err := s.pick()
		if err != nil {
			s.route.Failed.Add(1)
			s.failure = errors.Join(s.failure, err)
			c.Abort()
			return nil
		}
		if len(s.tried) > 0 {
			s.route.Retried.Add(1)
		}
		s.tried = append(s.tried, u)
		d := s.route.Dialer(u.Address)
		d.Near, d.Proxy = c, s.header
		if s.out, err = d.Start(u.Address.Network(), u.Address.Host, &dialed{session: s, up: u}); err == nil {
			return nil
		}
		u.End()
		u.Failed(err)
		s.failure = err
	}
}

func (s *session) pick() (*upstream.Upstream, error) {
	if len(s.tried) >= s.route.Tries() {
		return nil, upstream.ErrNone
	}
	return s.route.Set.Pick(s.source, s.tried)
}

// clientGone ends the session of a client that is gone.
func (s *session) clientGone(err error) {
	s.route.Leave()
	if s.spliced.Load() {
		if err != nil {
			s.route.Broken.Add(1)
		}
		return
	}
	_ = s.out.Abort()
	s.log(0, 0, errors.Join(s.failure, err))
}

// over is the end of both connections.
func (s *session) over(spliced *conn.Spliced) {
	in, out := s.route.Over(spliced)
	s.log(in, out, nil)
}

func (s *session) log(in, out uint64, err error) {
	if s.route.Access == nil || s.told.Swap(true) {
		return
	}
	to := ""
	if n := len(s.tried); n > 0 {
		to = s.tried[n-1].Address.String()
	}
	s.route.Access.Info("connection", "route", s.route.Name, "client", s.from.String(), "upstream", to,
		"in", in, "out", out, "took", time.Since(s.began), "error", err)
}

// dialed is the handler of the connection to an upstream.
type dialed struct {
	conn.Base
	session *session
	up      *upstream.Upstream
	open    bool
}

// OnOpen splices. The client may have gone meanwhile.
func (h *dialed) OnOpen(b *conn.Conn) error {
	h.open = true
	h.up.Opened()
	s := h.session
	if err := b.SetIdleTimeout(s.route.Idle()); err != nil {
		return err
	}
	s.spliced.Store(true)
	spliced, err := conn.Splice(b, s.client, s.over)
	if err != nil {
		b.Abort()
		s.log(0, 0, err)
		return nil
	}
	s.route.Watch(spliced)
	return nil
}

// OnData is not called: the splice has all bytes.
func (h *dialed) OnData(*conn.Conn) error { return nil }

// OnDrain does nothing: it goes on with the client's connection.
func (h *dialed) OnDrain(*conn.Conn) {}

// OnClose has another upstream tried if this is no connection yet.
func (h *dialed) OnClose(_ *conn.Conn, err error) {
	h.up.End()
	if h.open {
		return
	}
	s := h.session
	_ = s.client.Do(func(c *conn.Conn) { // else nobody wants one any more
		h.up.Failed(err)
		s.failure = err
		if err := s.next(c); err != nil {
			c.Abort()
		}
	})
}
