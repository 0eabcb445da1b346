package conn

import (
	"net/netip"
	"slices"

	"github.com/suiro-go/suiro/reactor"
)

// A PacketHandle refers to a packet socket from any goroutine, for any length of
// time. It may be copied and compared; one that has outlived its socket is harmless
// and never means another one. The zero value is such a one.
//
// The methods' error matches net.ErrClosed when the socket has ended.
type PacketHandle struct {
	group *Group
	token reactor.Token
}

// Send queues a copy of p as one datagram to an address; the zero AddrPort is the
// peer of a connected socket. A full queue takes nothing: ErrWriteQueueFull. What
// becomes of it otherwise, OnError is told.
func (h PacketHandle) Send(p []byte, to netip.AddrPort) error {
	return h.tell(packetCommand{kind: cmdSend, data: slices.Clone(p), to: to})
}

// Do calls f on a worker, where f may use the socket as a handler does. If the socket
// ends first, f is not called. While 1024 functions wait, Do returns ErrTooManyCalls and
// f is not called.
func (h PacketHandle) Do(f func(*PacketConn)) error {
	return h.tell(packetCommand{kind: cmdDo, do: f})
}

// Close is PacketConn.Close.
func (h PacketHandle) Close() error { return h.tell(packetCommand{kind: cmdClose}) }

// Drain has OnDrain called, as Group.Drain does for every socket.
func (h PacketHandle) Drain() error { return h.tell(packetCommand{kind: cmdDrain}) }

// Abort is PacketConn.Abort.
func (h PacketHandle) Abort() error { return h.tell(packetCommand{kind: cmdAbort}) }

// LocalAddr is PacketConn.LocalAddr; invalid when the socket has ended.
func (h PacketHandle) LocalAddr() netip.AddrPort {
	if c := h.conn(); c != nil {
		return c.local
	}
	return netip.AddrPort{}
}

func (h PacketHandle) tell(cmd packetCommand) error {
	if c := h.conn(); c != nil {
		return c.tell(cmd)
	}
	return errGone
}

func (h PacketHandle) conn() *PacketConn {
	if h.group == nil {
		return nil
	}
	e := h.group.core.Table.Get(h.token)
	if e == nil {
		return nil
	}
	t, _ := e.Target.(*packetTarget)
	return (*PacketConn)(t)
}
