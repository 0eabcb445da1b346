package packet

import (
	"net/netip"
	"strconv"
)

// answers chooses the source address of datagrams that a handler sends while it handles a batch. A
// client ignores an answer that does not come from the address that it has asked. The kernel would
// choose another one on a host with several addresses. All datagrams of a batch have one
// destination. So an answer to one of their senders leaves from there, and all other datagrams
// leave from where the kernel chooses.
type answers struct {
	on      bool       // the socket is bound to an unspecified address, and the kernel reports destinations
	shown   bool       // the handler gets the destinations, too
	from    netip.Addr // the destination of the batch; invalid: it is none that can be a source
	batch   []Packet
	next    int                         // the first datagram that was not answered, if they are answered in order
	last    netip.AddrPort              // the receiver of the last answer
	senders map[netip.AddrPort]struct{} // of the batch; nil: they were answered in order so far
}

// source returns the address of this host to answer a datagram from. It is invalid if it is
// unknown, and for a datagram to a group or a broadcast address.
func (p *Packet) source() netip.Addr {
	if !p.unicast {
		return netip.Addr{}
	}
	if p.to.Is6() && p.to.IsLinkLocalUnicast() {
		return p.to.WithZone(strconv.Itoa(p.device))
	}
	return p.to
}

// sameSource reports whether two datagrams are answered from the same address.
func sameSource(p, q *Packet) bool {
	return p.unicast == q.unicast && (!p.unicast || p.to == q.to && p.device == q.device)
}

// hide takes destinations out of datagrams for whose destinations the handler has not asked.
func (a *answers) hide(batch []Packet) {
	if a.on && !a.shown {
		for i := range batch {
			batch[i].To, batch[i].Interface = netip.Addr{}, 0
		}
	}
}

// begin is called before the handler gets a batch.
func (a *answers) begin(batch []Packet) {
	if a.on {
		a.from, a.batch = batch[0].source(), batch
	}
}

// end is called after the handler has had a batch.
func (a *answers) end() { *a = answers{on: a.on, shown: a.shown} }

// source returns the address that a datagram to that address leaves from. Invalid: the kernel
// chooses.
func (a *answers) source(to netip.AddrPort) netip.Addr {
	switch {
	case !a.from.IsValid():
		return netip.Addr{}
	case a.next < len(a.batch) && a.batch[a.next].From == to:
		a.next++
		a.last = to
		return a.from
	case to == a.last:
		return a.from
	}
	if a.senders == nil {
		a.senders = make(map[netip.AddrPort]struct{}, len(a.batch))
		for i := range a.batch {
			a.senders[a.batch[i].From] = struct{}{}
		}
	}
	if _, ok := a.senders[to]; ok {
		return a.from
	}
	return netip.Addr{}
}
