package packet

import (
	"net/netip"
	"slices"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// A Handle is a reference to a packet socket. Any goroutine may use it at any time. It may be
// copied and compared. After the socket has ended, its methods return an error that matches
// net.ErrClosed, and it never refers to another socket. The zero value is a handle of a socket that
// has ended.
type Handle struct {
	group *engine.Group
	token reactor.Token
}

// Send queues a copy of p as one datagram to an address. The zero AddrPort is the peer of a
// connected socket. If the queue is full, the error is ErrWriteQueueFull, and nothing is queued.
// After a call of Close or Abort the error matches net.ErrClosed. OnError gets all later errors of
// the datagram, unless the socket is closing.
func (h Handle) Send(p []byte, to netip.AddrPort) error {
	return h.enqueue(command{kind: cmdSend, data: slices.Clone(p), to: to})
}

// SendFrom is Send for a datagram that leaves from an address of this host: see Conn.WriteFrom.
func (h Handle) SendFrom(p []byte, from netip.Addr, to netip.AddrPort) error {
	return h.enqueue(command{kind: cmdSend, data: slices.Clone(p), from: from, to: to})
}

// Do calls f on a worker, where f may use the socket as a handler does. If the socket ends first, f
// is not called. While 1024 functions wait, Do returns ErrTooManyCalls, and f is not called.
func (h Handle) Do(f func(*Conn)) error {
	return h.enqueue(command{kind: cmdDo, do: f})
}

// Close is Conn.Close.
func (h Handle) Close() error { return h.enqueue(command{kind: cmdClose}) }

// Drain makes the worker call OnDrain, as conn.Group.Drain does for every socket.
func (h Handle) Drain() error { return h.enqueue(command{kind: cmdDrain}) }

// Abort is Conn.Abort.
func (h Handle) Abort() error { return h.enqueue(command{kind: cmdAbort}) }

// LocalAddr is Conn.LocalAddr. When the socket has ended, it is invalid.
func (h Handle) LocalAddr() netip.AddrPort {
	if c := h.conn(); c != nil {
		return c.local
	}
	return netip.AddrPort{}
}

func (h Handle) enqueue(cmd command) error {
	if c := h.conn(); c != nil {
		return c.enqueue(cmd)
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
