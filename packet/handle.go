package packet

import (
	"net/netip"
	"slices"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// A Handle refers to a packet socket from any goroutine, for any length of
// time. It may be copied and compared; one that has outlived its socket is harmless
// and never means another one. The zero value is such a one.
//
// The methods' error matches net.ErrClosed when the socket has ended.
type Handle struct {
	group *engine.Group
	token reactor.Token
}

// Send queues a copy of p as one datagram to an address; the zero AddrPort is the
// peer of a connected socket. A full queue takes nothing: ErrWriteQueueFull. What
// becomes of it otherwise, OnError is told.
func (h Handle) Send(p []byte, to netip.AddrPort) error {
	return h.tell(command{kind: cmdSend, data: slices.Clone(p), size: len(p), to: to})
}

// Do calls f on a worker, where f may use the socket as a handler does. If the socket
// ends first, f is not called. While 1024 functions wait, Do returns ErrTooManyCalls and
// f is not called.
func (h Handle) Do(f func(*Conn)) error {
	return h.tell(command{kind: cmdDo, do: f})
}

// Close is Conn.Close.
func (h Handle) Close() error { return h.tell(command{kind: cmdClose}) }

// Drain has OnDrain called, as conn.Group.Drain does for every socket.
func (h Handle) Drain() error { return h.tell(command{kind: cmdDrain}) }

// Abort is Conn.Abort.
func (h Handle) Abort() error { return h.tell(command{kind: cmdAbort}) }

// LocalAddr is Conn.LocalAddr; invalid when the socket has ended.
func (h Handle) LocalAddr() netip.AddrPort {
	if c := h.conn(); c != nil {
		return c.local
	}
	return netip.AddrPort{}
}

func (h Handle) tell(cmd command) error {
	if c := h.conn(); c != nil {
		return c.tell(cmd)
	}
	return engine.ErrGone
}

func (h Handle) conn() *Conn {
	if h.group == nil {
		return nil
	}
	e := h.group.Table.Get(h.token)
	if e == nil {
		return nil
	}
	t, _ := e.Target.(*target)
	return (*Conn)(t)
}
