package relay

import (
	"cmp"
	"net/netip"

	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/packet"
)

// evict ends the oldest session to which nothing has been answered. So a flood of forged addresses
// takes the place of its own sessions, and not that of peers that are there. It reports whether
// there was one.
func (p *Packets) evict() bool {
	for at := p.unanswered.Front(); at != nil; at = p.unanswered.Front() {
		p.unanswered.Remove(at)
		s := at.Value.(*packet.Session)
		e := s.Value().(*peer)
		e.place = nil
		if !e.answered.Load() {
			e.route.Load().Evicted.Add(1)
			s.Close()
			return true
		}
	}
	return false
}

// A crowd is how many sessions each source has: an IPv4 address, or a /64 of IPv6.
type crowd map[netip.Addr]int

// enter counts a peer's session. It reports whether it may be.
func (c crowd) enter(peer netip.Addr, r *route.Route) bool {
	source := limit.Source(peer)
	if most := mostOf(r, source); most > 0 && c[source] >= most {
		return false
	}
	c[source]++
	return true
}

// leave is the end of a session that was counted.
func (c crowd) leave(peer netip.Addr) {
	source := limit.Source(peer)
	if c[source]--; c[source] == 0 {
		delete(c, source)
	}
}

// most is how many sessions there may be.
func most(r *route.Route) int { return cmp.Or(r.UDP.MaxSessions, 65536) }

// mostOf is how many sessions a source may have; 0: any number.
func mostOf(r *route.Route, source netip.Addr) int {
	switch n := r.UDP.MaxPerSource; {
	case n != 0:
		return max(n, 0)
	case source.IsLoopback():
		return 0
	default:
		return max(most(r)/4, 1)
	}
}
