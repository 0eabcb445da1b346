package relay

import (
	"errors"
	"math"
	"net/netip"
	"syscall"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
	"github.com/suiro-go/suiro/packet"
)

// answers is the handler of a session's socket.
type answers struct {
	packet.Base
	packets *Packets
	session *packet.Session // a key; its methods are for the task of the listening socket

	to     packet.Handle
	client netip.AddrPort
	asked  netip.Addr // this host's, which the client sends to
	peer   *peer
	up     *upstream.Upstream
	seat   *limit.Seat
	heard  bool // the upstream has answered, and not refused anything since
}

// burst is how much a socket is to hold that has come while its worker did something else; the
// system allows less (net.core.rmem_max), silently.
const burst = 4 << 20

// OnOpen asks the kernel for room for a burst of answers.
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
	r := h.peer.route.Load()
	defer h.packets.answered(h, len(batch))
	for _, p := range batch {
		if r.UDP.MaxReplies >= 0 && h.peer.credit.Add(-1) < 0 {
			r.Dropped.Add(1)
			continue
		}
		h.peer.sent.Add(uint64(len(p.Data)))
		r.Out.Add(uint64(len(p.Data)))
		if err := h.peer.allow(h.to.SendFrom(p.Data, h.asked, h.client)); err != nil {
			return err
		}
	}
	return nil
}

// OnClose gives the descriptor back.
func (h *answers) OnClose(*packet.Conn, error) { h.seat.Close() }

// OnError is mostly that nobody listens at the upstream: no reason to end, for somebody may again,
// but it counts against it, and what the client sends next goes to another if there is one. A
// datagram that is too long is not the upstream's fault.
func (h *answers) OnError(_ *packet.Conn, err error) error {
	if err = conn.Portable(err); !unreachable(err) {
		h.peer.route.Load().Dropped.Add(1)
		h.packets.answered(h, 1) // it gets no answer
		return nil
	}
	h.heard = false
	h.up.Failed(err)
	h.peer.refused.Store(h.up)
	h.packets.answered(h, math.MaxInt) // no answer is to be expected
	return nil
}

func unreachable(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}
