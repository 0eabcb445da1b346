package conn

import (
	"net"
	"slices"

	"github.com/suiro-go/suiro/reactor"
)

// A Handle refers to a connection from any goroutine, for any length of time.
// It may be copied and compared; one that has outlived its connection is
// harmless and never means another one. The zero value is such a one.
//
// The methods' error matches net.ErrClosed when the connection has ended.
type Handle struct {
	group *Group
	token reactor.Token
}

// Send queues a copy of p, which is sent in one piece, in the order of the
// calls. A full queue takes nothing: ErrWriteQueueFull. What waits for a TLS handshake
// is queued, too. It is not an error if the connection ends before p is sent; OnClose
// tells.
func (h Handle) Send(p []byte) error {
	return h.tell(command{kind: cmdSend, data: slices.Clone(p)})
}

// Do calls f on a worker, where f may use the connection as a handler does. If the
// connection ends first, f is not called. While 1024 functions wait, Do returns
// ErrTooManyCalls and f is not called.
func (h Handle) Do(f func(*Conn)) error {
	return h.tell(command{kind: cmdDo, do: f, counted: true})
}

// Close is Conn.Close.
func (h Handle) Close() error { return h.tell(command{kind: cmdClose}) }

// Drain has OnDrain called, as Group.Drain does for every connection.
func (h Handle) Drain() error { return h.tell(command{kind: cmdDrain}) }

// Abort is Conn.Abort.
func (h Handle) Abort() error { return h.tell(command{kind: cmdAbort}) }

// Remote is Conn.RemoteAddr; nil when the connection has ended.
func (h Handle) Remote() net.Addr {
	if c := h.conn(); c != nil {
		return c.remote()
	}
	return nil
}

func (h Handle) tell(cmd command) error {
	if c := h.conn(); c != nil {
		return c.tell(cmd)
	}
	return errGone
}

// conn is the connection, or nil if it has ended. Only its task may use the fields that can change
// and have no lock.
func (h Handle) conn() *Conn {
	if h.group == nil {
		return nil
	}
	e := h.group.core.Table.Get(h.token)
	if e == nil {
		return nil
	}
	return connOf(e)
}
