package relay

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/packet"
)

// sessions is the listening socket's handler. Packets bounds their number, since the bound may
// change while the socket is open.
type sessions struct {
	*packet.Sessions
	packets  *Packets
	shedding atomic.Bool
}

func (p *Packets) sessions(r *route.Route) *packet.Sessions {
	return &packet.Sessions{Handler: p, Idle: idle(r), CountSent: true, Max: math.MaxInt}
}

func idle(r *route.Route) time.Duration { return r.IdleTimeout.Or(time.Minute) }

// OnOpen asks the kernel for room for a burst of datagrams.
func (s *sessions) OnOpen(c *packet.Conn) error {
	_ = c.SetReadBuffer(burst)
	at := c.Handle()
	s.packets.seats = s.packets.budget.Seats(func() { s.shed(at) })
	return s.Sessions.OnOpen(c)
}

// OnDrain lets sessions that wait for an answer go on. It opens no others.
func (s *sessions) OnDrain(c *packet.Conn) { s.packets.beginDrain(c) }

// OnClose ends all sessions.
func (s *sessions) OnClose(c *packet.Conn, err error) {
	s.Sessions.OnClose(c, err)
	if s.packets.seats != nil {
		s.packets.seats.Close()
	}
	close(s.packets.closed)
}

// OnPackets hands datagrams to their sessions. A datagram of a new client makes room, or is counted
// and dropped.
func (s *sessions) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	p := s.packets
	r := p.Route.Load()
	if idle(r) != s.Idle { // the fields of a Sessions must not change, so its sessions end
		s.Sessions.OnClose(c, nil)
		s.Sessions = p.sessions(r)
	}
	if len(p.open)+len(batch) <= most(r) && !p.seats.Tight() && !p.drain.on.Load() {
		return s.Sessions.OnPackets(c, batch)
	}
	for i := range batch {
		if s.Session(c, batch[i].From) == nil && (p.drain.on.Load() || !p.room(r)) {
			r.Refused.Add(1)
			continue
		}
		if err := s.Sessions.OnPackets(c, batch[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// room makes room for one more session. It reports whether there is any.
func (p *Packets) room(r *route.Route) bool {
	for len(p.open) >= most(r) {
		if !p.evict() {
			return false
		}
	}
	if p.seats.Tight() {
		p.evict() // else the budget decides
	}
	return true
}

// shed gives up sessions without an answer until descriptors are no longer few. Any goroutine may
// call it.
func (s *sessions) shed(at packet.Handle) {
	if s.shedding.Swap(true) {
		return
	}
	err := at.Do(func(*packet.Conn) {
		s.shedding.Store(false)
		for s.packets.seats.Tight() && s.packets.evict() {
		}
	})
	if err != nil {
		s.shedding.Store(false)
	}
}
