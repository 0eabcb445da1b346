package relay

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// Packets gives each client of a UDP socket a session, with a socket of its own that is
// connected to an upstream: so the upstream tells clients apart, an answer finds its
// client by the socket it comes to, and nobody else can send one. What comes in one batch leaves in one, on
// either side.
//
// Its fields but the route belong to the listening socket's task.
type Packets struct {
	Route atomic.Pointer[route.Route] // a reload changes it, for sessions to come
	bySrc map[netip.Addr]int
}

// Handler is for the listening socket. How long sessions live and how many there may be is
// settled with it.
func (p *Packets) Handler(r *route.Route) conn.PacketHandler {
	p.Route.Store(r)
	p.bySrc = map[netip.Addr]int{}
	return &sessions{conn.Sessions{Handler: p, Idle: r.IdleTimeout.Or(time.Minute), Max: r.UDP.MaxSessions}}
}

// sessions is the listening socket's handler.
type sessions struct{ conn.Sessions }

// OnOpen has room made for a burst of datagrams.
func (s *sessions) OnOpen(c *conn.PacketConn) error {
	_ = c.SetReadBuffer(burst)
	return s.Sessions.OnOpen(c)
}

var errTooMany = errors.New("this address has as many sessions as it may")

// A peer is a session's value.
type peer struct {
	route *route.Route
	up    *upstream.Upstream
	out   conn.PacketHandle
	began time.Time

	second int64 // of the rate
	came   int   // datagrams in it
	in     uint64
	sent   atomic.Uint64 // bytes to the client
}

// OnOpen connects a socket. Without one, as when no descriptor is left, the datagram is
// lost, and the client's next one tries again.
func (p *Packets) OnOpen(s *conn.Session) error {
	r, source := p.Route.Load(), s.Peer().Addr().Unmap()
	if most := r.UDP.MaxPerSource; most > 0 && p.bySrc[source] >= most {
		r.Refused.Add(1)
		return errTooMany
	}
	if !r.Admit() {
		return errTooMany
	}
	e := &peer{route: r, began: time.Now()}
	p.bySrc[source]++
	s.SetValue(e)
	up, err := r.Set.Pick(source, nil)
	if err != nil {
		r.Failed.Add(1)
		return err
	}
	to, err := netip.ParseAddrPort(up.Address.Host) // resolved when the configuration was read
	if err != nil {
		return err
	}
	if e.out, err = s.Conn().Group().DialPacket(to, &answers{to: s.Conn().Handle(), client: s.Peer(), peer: e, up: up}); err != nil {
		up.Failed(err)
		r.Failed.Add(1)
		return err
	}
	up.Begin()
	up.Succeeded()
	e.up = up
	return nil
}

// OnPacket passes a datagram on. If the session's socket has ended, so does the session.
func (p *Packets) OnPacket(s *conn.Session, d conn.Packet) error {
	e := s.Value().(*peer)
	if most := e.route.UDP.MaxRate; most > 0 {
		if now := s.Conn().Now().Unix(); now != e.second {
			e.second, e.came = now, 0
		}
		if e.came++; e.came > most {
			e.route.Dropped.Add(1)
			return nil
		}
	}
	e.in += uint64(len(d.Data))
	e.route.In.Add(uint64(len(d.Data)))
	return e.send(e.out, d.Data, netip.AddrPort{})
}

// send forgives that a queue is full: a datagram more or less gets lost.
func (e *peer) send(to conn.PacketHandle, p []byte, at netip.AddrPort) error {
	err := to.Send(p, at)
	if errors.Is(err, conn.ErrWriteQueueFull) {
		e.route.Dropped.Add(1)
		return nil
	}
	return err
}

// OnClose ends the socket.
func (p *Packets) OnClose(s *conn.Session, err error) {
	e, ok := s.Value().(*peer)
	if !ok {
		return
	}
	source := s.Peer().Addr().Unmap()
	if p.bySrc[source]--; p.bySrc[source] == 0 {
		delete(p.bySrc, source)
	}
	e.route.Leave()
	if e.up == nil {
		return
	}
	_ = e.out.Close()
	e.up.End()
	if e.route.Access != nil {
		e.route.Access.Info("session", "route", e.route.Name, "client", s.Peer().String(), "upstream", e.up.Address.String(),
			"in", e.in, "out", e.sent.Load(), "took", time.Since(e.began), "error", err)
	}
}

// answers is the handler of a session's socket.
type answers struct {
	conn.PacketBase
	to     conn.PacketHandle
	client netip.AddrPort
	peer   *peer
	up     *upstream.Upstream
}

// burst is how much a socket is to hold that has come while its worker did something else; the
// system allows less (net.core.rmem_max), silently.
const burst = 4 << 20

// OnOpen has room made for a burst of answers.
func (h *answers) OnOpen(c *conn.PacketConn) error {
	_ = c.SetReadBuffer(burst) // with the default it works as well
	return nil
}

// OnPackets passes answers on.
func (h *answers) OnPackets(_ *conn.PacketConn, batch []conn.Packet) error {
	for _, p := range batch {
		h.peer.sent.Add(uint64(len(p.Data)))
		h.peer.route.Out.Add(uint64(len(p.Data)))
		if err := h.peer.send(h.to, p.Data, h.client); err != nil {
			return err
		}
	}
	return nil
}

// OnError is that nobody listens at the upstream: no reason to end, for somebody may again, but
// it counts against it.
func (h *answers) OnError(_ *conn.PacketConn, err error) error {
	h.up.Failed(err)
	return nil
}
