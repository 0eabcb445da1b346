package relay

import (
	"cmp"
	"container/list"
	"errors"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
	"github.com/suiro-go/suiro/packet"
)

// Packets gives each client of a UDP socket a session, with a socket of its own that is connected
// to an upstream. So the upstream tells clients apart, an answer finds its client by its socket,
// and no other host can send one. A received batch leaves as one batch, on either side.
//
// Its fields but the route belong to the listening socket's task.
type Packets struct {
	Route      atomic.Pointer[route.Route] // a reload changes it, for sessions to come
	bySrc      crowd
	unanswered list.List // sessions without an answer that is known of, the oldest first
}

// Handler is for the listening socket. How long sessions live and how many there may be is
// settled with it.
func (p *Packets) Handler(r *route.Route) packet.Handler {
	p.Route.Store(r)
	p.bySrc = crowd{}
	return &sessions{Sessions: packet.Sessions{Handler: p, Idle: r.IdleTimeout.Or(time.Minute), CountSent: true, Max: most(r)}, packets: p}
}

// sessions is the listening socket's handler.
type sessions struct {
	packet.Sessions
	packets *Packets
	told    uint64 // datagrams without room for a session that are in the counts
}

// OnOpen has room made for a burst of datagrams.
func (s *sessions) OnOpen(c *packet.Conn) error {
	_ = c.SetReadBuffer(burst)
	return s.Sessions.OnOpen(c)
}

// OnPackets counts those who are one too many.
func (s *sessions) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	err := s.pass(c, batch)
	if n := s.Refused(); n > s.told {
		s.packets.Route.Load().Refused.Add(n - s.told)
		s.told = n
	}
	return err
}

var errTooMany = errors.New("this address has as many sessions as it may")

// A peer is a session's value.
type peer struct {
	route *route.Route
	up    *upstream.Upstream // nil: none has been found yet
	out   packet.Handle
	began time.Time

	second int64 // of the rate
	came   int   // datagrams in it
	in     uint64
	sent   atomic.Uint64 // bytes to the client

	place    *list.Element // in Packets.unanswered; nil: none
	answered atomic.Bool   // set by the task of its socket
	credit   atomic.Int64  // datagrams that may be answered

	refused atomic.Pointer[upstream.Upstream] // nobody listens there, as its socket has heard
}

// OnOpen connects a socket. Without one, as when no descriptor is left, the datagram is
// lost, and the client's next one tries again.
func (p *Packets) OnOpen(s *packet.Session) error {
	r := p.Route.Load()
	if !p.bySrc.enter(s.Peer().Addr(), r) {
		r.Refused.Add(1)
		return errTooMany
	}
	if !r.Admit() {
		p.bySrc.leave(s.Peer().Addr())
		return errTooMany
	}
	e := &peer{route: r, began: time.Now()}
	s.SetValue(e)
	e.place = p.unanswered.PushBack(s)
	err := e.connect(s, nil)
	if err != nil {
		r.Failed.Add(1)
	}
	return err
}

// connect gives the session a socket to an upstream that is not among those that were tried,
// instead of the one it has.
func (e *peer) connect(s *packet.Session, tried []*upstream.Upstream) error {
	up, err := e.route.Set.Pick(s.Peer().Addr().Unmap(), tried)
	if err != nil {
		return err
	}
	to, err := netip.ParseAddrPort(up.Address.Host) // resolved when the configuration was read
	if err != nil {
		up.End()
		return err
	}
	out, err := packet.Dial(s.Conn().Group(), to, &answers{to: s.Conn().Handle(), client: s.Peer(), peer: e, up: up})
	if err != nil {
		up.End()
		up.Failed(err)
		return err
	}
	e.disconnect()
	up.OpenedUnheard()
	e.up, e.out = up, out
	return nil
}

// disconnect ends the socket.
func (e *peer) disconnect() {
	if e.up != nil {
		_ = e.out.Close()
		e.up.End()
	}
}

// OnPacket passes a datagram on, to another upstream than before if there nobody listens. If the
// session's socket has ended, so does the session.
func (p *Packets) OnPacket(s *packet.Session, d packet.Packet) error {
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
	if e.refused.Swap(nil) == e.up { // and not what an earlier one is late to tell
		if e.connect(s, []*upstream.Upstream{e.up}) == nil { // else this one may be back
			e.route.Retried.Add(1)
		}
	}
	if most := e.route.UDP.MaxReplies; most >= 0 {
		e.credit.Store(int64(cmp.Or(most, 1000)))
	}
	e.in += uint64(len(d.Data))
	e.route.In.Add(uint64(len(d.Data)))
	return e.send(e.out, d.Data, netip.AddrPort{})
}

// send forgives that a queue is full: a datagram more or less gets lost.
func (e *peer) send(to packet.Handle, p []byte, at netip.AddrPort) error {
	err := to.Send(p, at)
	if errors.Is(err, conn.ErrWriteQueueFull) {
		e.route.Dropped.Add(1)
		return nil
	}
	return err
}

// OnClose ends the socket.
func (p *Packets) OnClose(s *packet.Session, err error) {
	e, ok := s.Value().(*peer)
	if !ok {
		return
	}
	if e.place != nil {
		p.unanswered.Remove(e.place)
	}
	p.bySrc.leave(s.Peer().Addr())
	e.route.Leave()
	if e.up == nil {
		return
	}
	e.disconnect()
	if e.route.Access != nil {
		e.route.Access.Info("session", "route", e.route.Name, "client", s.Peer().String(), "upstream", e.up.Address.String(),
			"in", e.in, "out", e.sent.Load(), "took", time.Since(e.began), "error", err)
	}
}

// answers is the handler of a session's socket.
type answers struct {
	packet.Base
	to     packet.Handle
	client netip.AddrPort
	peer   *peer
	up     *upstream.Upstream
	heard  bool // the upstream has answered, and not refused anything since
}

// burst is how much a socket is to hold that has come while its worker did something else; the
// system allows less (net.core.rmem_max), silently.
const burst = 4 << 20

// OnOpen has room made for a burst of answers.
func (h *answers) OnOpen(c *packet.Conn) error {
	_ = c.SetReadBuffer(burst) // with the default it works as well
	return nil
}

// OnPackets passes answers on. The first shows that the upstream is well: that there is a socket
// does not.
func (h *answers) OnPackets(_ *packet.Conn, batch []packet.Packet) error {
	if !h.heard {
		h.heard = true
		h.peer.answered.Store(true)
		h.up.Succeeded()
	}
	for _, p := range batch {
		if h.peer.route.UDP.MaxReplies >= 0 && h.peer.credit.Add(-1) < 0 {
			h.peer.route.Dropped.Add(1)
			continue
		}
		h.peer.sent.Add(uint64(len(p.Data)))
		h.peer.route.Out.Add(uint64(len(p.Data)))
		if err := h.peer.send(h.to, p.Data, h.client); err != nil {
			return err
		}
	}
	return nil
}

// OnError is mostly that nobody listens at the upstream: no reason to end, for somebody may again,
// but it counts against it, and what the client sends next goes to another if there is one. A
// datagram that is too long is not the upstream's fault.
func (h *answers) OnError(_ *packet.Conn, err error) error {
	if err = conn.Portable(err); !unreachable(err) {
		h.peer.route.Dropped.Add(1)
		return nil
	}
	h.heard = false
	h.up.Failed(err)
	h.peer.refused.Store(h.up)
	return nil
}

func unreachable(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}
