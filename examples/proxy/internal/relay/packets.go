package relay

import (
	"cmp"
	"container/list"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
	"github.com/suiro-go/suiro/packet"
)

// Packets gives each client of a UDP socket a session, with a socket of its own that is connected
// to an upstream. So the upstream tells clients apart, an answer finds its client by its socket,
// and no other host can send one. A received batch leaves as one batch, on either side.
//
// Each datagram of a client takes the newest route. All fields but Route belong to the task of the
// listening socket.
type Packets struct {
	Route atomic.Pointer[route.Route] // a reload changes it

	budget     *limit.Budget
	seats      *limit.Seats // from OnOpen of the socket to OnClose
	bySrc      crowd
	open       map[*packet.Session]*peer // all sessions; those without a socket of theirs have nil
	unanswered list.List                 // sessions without an answer that is known of, the oldest first

	closed chan struct{} // closed with the listening socket
	drain  drain
}

// Handler is for the listening socket. Its sessions take their descriptors of the budget.
func (p *Packets) Handler(r *route.Route, budget *limit.Budget) packet.Handler {
	p.Route.Store(r)
	p.bySrc, p.open, p.budget, p.closed = crowd{}, map[*packet.Session]*peer{}, budget, make(chan struct{})
	return &sessions{packets: p, Sessions: p.sessions(r)}
}

// Closed is closed when the descriptor of the listening socket is. Any goroutine may call it after
// Handler.
func (p *Packets) Closed() <-chan struct{} { return p.closed }

var (
	errTooMany = errors.New("this address has as many sessions as it may")
	errNoSeat  = errors.New("no descriptor is left for a session")
)

// A peer is a session's value.
type peer struct {
	route atomic.Pointer[route.Route]
	up    *upstream.Upstream // nil: none has been found yet
	out   packet.Handle
	seat  *limit.Seat
	began time.Time

	second int64 // of the rate
	came   int   // datagrams in it
	in     uint64
	sent   atomic.Uint64 // bytes to the client

	place    *list.Element // in Packets.unanswered; nil: none
	answered atomic.Bool   // set by the task of its socket
	credit   atomic.Int64  // datagrams that may be answered
	pending  atomic.Int64  // datagrams of the client that have no answer yet

	refused atomic.Pointer[upstream.Upstream] // nobody listens there, as its socket has heard
}

// OnOpen connects a socket. Without one, as when no descriptor is left, the datagram is
// lost, and the client's next one tries again.
func (p *Packets) OnOpen(s *packet.Session) error {
	r := p.Route.Load()
	p.open[s] = nil // until OnClose, which follows an error too
	if !p.bySrc.enter(s.Peer().Addr(), r) {
		r.Refused.Add(1)
		return errTooMany
	}
	if !r.Admit() {
		p.bySrc.leave(s.Peer().Addr())
		return errTooMany
	}
	e := &peer{began: time.Now()}
	e.route.Store(r)
	s.SetValue(e)
	p.open[s] = e
	e.place = p.unanswered.PushBack(s)
	err := p.connect(s, e, nil)
	if err != nil {
		r.Failed.Add(1)
	}
	return err
}

// connect gives the session a socket to an upstream that is not among those that were tried,
// instead of the one it has.
func (p *Packets) connect(s *packet.Session, e *peer, tried []*upstream.Upstream) error {
	seat := p.seats.Take()
	if seat == nil {
		return errNoSeat
	}
	up, out, err := p.dial(s, e, seat, tried)
	if err != nil {
		seat.Close()
		return err
	}
	e.disconnect()
	up.OpenedUnheard()
	e.up, e.out, e.seat = up, out, seat
	return nil
}

func (p *Packets) dial(s *packet.Session, e *peer, seat *limit.Seat, tried []*upstream.Upstream) (*upstream.Upstream, packet.Handle, error) {
	up, err := e.route.Load().Set.Pick(s.Peer().Addr().Unmap(), tried)
	if err != nil {
		return nil, packet.Handle{}, err
	}
	to, err := netip.ParseAddrPort(up.Address.Host) // resolved when the configuration was read
	if err != nil {
		up.End()
		return nil, packet.Handle{}, err
	}
	h := &answers{packets: p, session: s, to: s.Conn().Handle(), client: s.Peer(), asked: s.Local(), peer: e, up: up, seat: seat}
	out, err := packet.Dial(s.Conn().Group(), to, h)
	if err != nil {
		up.End()
		up.Failed(err)
	}
	return up, out, err
}

// disconnect ends the socket.
func (e *peer) disconnect() {
	if e.up != nil {
		e.seat.Leave()
		_ = e.out.Close()
		e.pending.Store(0)
		e.up.End()
		e.up = nil
	}
}

// renew gives the session the newest route, for its next datagram. If that route does not have the
// session's upstream, the session gets another one. It reports whether there is one.
func (p *Packets) renew(s *packet.Session, e *peer) bool {
	r, old := p.Route.Load(), e.route.Load()
	if r != old {
		if r.Counts != old.Counts {
			r.Active.Add(1)
			old.Leave()
		}
		e.route.Store(r)
		if e.up != nil && !r.Set.Has(e.up) {
			e.disconnect()
		}
	}
	if e.up == nil && p.connect(s, e, nil) != nil {
		r.Failed.Add(1)
		return false
	}
	return true
}

// OnPacket passes a datagram on, to another upstream than before if there nobody listens. If the
// session's socket has ended, so does the session.
func (p *Packets) OnPacket(s *packet.Session, d packet.Packet) error {
	e := s.Value().(*peer)
	if !p.renew(s, e) {
		return nil
	}
	r := e.route.Load()
	if most := r.UDP.MaxRate; most > 0 {
		if now := s.Conn().Now().Unix(); now != e.second {
			e.second, e.came = now, 0
		}
		if e.came++; e.came > most {
			r.Dropped.Add(1)
			return nil
		}
	}
	if e.refused.Swap(nil) == e.up { // and not what an earlier one is late to tell
		if p.connect(s, e, []*upstream.Upstream{e.up}) == nil { // else this one may be back
			r.Retried.Add(1)
		}
	}
	if most := r.UDP.MaxReplies; most >= 0 {
		e.credit.Store(int64(cmp.Or(most, 1000)))
	}
	e.in += uint64(len(d.Data))
	r.In.Add(uint64(len(d.Data)))
	e.pending.Add(1)
	err := e.out.Send(d.Data, netip.AddrPort{})
	if err != nil {
		e.pending.Add(-1)
	}
	return e.allow(err)
}

// allow forgives that a queue is full: a datagram more or less gets lost.
func (e *peer) allow(err error) error {
	if errors.Is(err, conn.ErrWriteQueueFull) {
		e.route.Load().Dropped.Add(1)
		return nil
	}
	return err
}

// OnClose ends the socket.
func (p *Packets) OnClose(s *packet.Session, err error) {
	delete(p.open, s)
	defer p.closeDrained(s.Conn())
	e, ok := s.Value().(*peer)
	if !ok {
		return
	}
	if e.place != nil {
		p.unanswered.Remove(e.place)
	}
	p.bySrc.leave(s.Peer().Addr())
	r, up := e.route.Load(), e.up
	r.Leave()
	e.disconnect()
	if r.Access != nil && up != nil {
		r.Access.Info("session", "route", r.Name, "client", s.Peer().String(), "upstream", up.Address.String(),
			"in", e.in, "out", e.sent.Load(), "took", time.Since(e.began), "error", err)
	}
}
