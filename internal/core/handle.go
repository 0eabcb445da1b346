package core

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
	Group *Group
	Token reactor.Token
}

// Send is Handle.Send of package conn.
func (h Handle) Send(p []byte) error {
	return h.tell(Command{Kind: CmdSend, Data: slices.Clone(p)})
}

// Do is Handle.Do of package conn.
func (h Handle) Do(f any) error {
	return h.tell(Command{Kind: CmdDo, What: f, counted: true})
}

// Close is Handle.Close of package conn.
func (h Handle) Close() error { return h.tell(Command{Kind: CmdClose}) }

// Drain is Handle.Drain of package conn.
func (h Handle) Drain() error { return h.tell(Command{Kind: cmdDrain}) }

// Abort is Handle.Abort of package conn.
func (h Handle) Abort() error { return h.tell(Command{Kind: CmdAbort}) }

// Remote is Handle.Remote of package conn.
func (h Handle) Remote() net.Addr {
	if c := h.Conn(); c != nil {
		return c.Remote()
	}
	return nil
}

func (h Handle) tell(cmd Command) error {
	if c := h.Conn(); c != nil {
		return c.Tell(cmd)
	}
	return ErrGone
}

// Conn is the connection, or nil if it has ended. Only its task may use the fields that can change
// and have no lock.
func (h Handle) Conn() *Conn {
	if h.Group == nil {
		return nil
	}
	e := h.Group.Engine.Table.Get(h.Token)
	if e == nil {
		return nil
	}
	return ConnOf(e)
}
