package conn

import (
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
// calls. A full queue takes nothing: ErrWriteQueueFull. It is not an error if
// the connection ends before p is sent; OnClose tells.
func (h Handle) Send(p []byte) error {
	return h.tell(command{kind: cmdSend, data: slices.Clone(p)})
}

// Do has f called on a worker, where it may use the connection as a handler
// does. If that ends first, f is not called.
func (h Handle) Do(f func(*Conn)) error { return h.tell(command{kind: cmdDo, do: f}) }

// Close is Conn.Close.
func (h Handle) Close() error { return h.tell(command{kind: cmdClose}) }

// Abort is Conn.Abort.
func (h Handle) Abort() error { return h.tell(command{kind: cmdAbort}) }

func (h Handle) tell(cmd command) error {
	if h.group == nil {
		return errGone
	}
	e := h.group.table.get(h.token)
	if e == nil {
		return errGone
	}
	return e.target.(*Conn).tell(cmd)
}
