package packet

import "net/netip"

// A Packet is one datagram that was received.
type Packet struct {
	Data      []byte         // valid until the handler's method returns
	From      netip.AddrPort // the sender
	To        netip.Addr     // the address it was sent to, after WantDestination; else invalid
	Interface int            // the index of the interface it came by, after WantDestination; else 0
	Truncated bool           // Data is only the beginning: it was longer than reactor.Config.DatagramSize
}

// A Handler is told what happens to a packet socket. Its methods are called
// for one socket by one goroutine at a time; what is said of Handler's goes for
// them: they run on the workers and must not block, an error that one returns
// closes the socket as Conn.Close does and is given to OnClose, and so is a
// panic.
//
// Embed Base to implement only what you need.
type Handler interface {
	// OnOpen: the socket is served from now on.
	OnOpen(c *Conn) error

	// OnPackets: datagrams have arrived, at least one, in the order in which the
	// kernel had them. What the method queues with WriteTo leaves in one system call
	// when all that had arrived is dealt with.
	OnPackets(c *Conn, batch []Packet) error

	// OnError: a datagram could not be sent, or the network said that an earlier
	// one did not arrive, as a closed port does to a connected socket
	// (ECONNREFUSED). err is a *net.OpError, of a datagram that was not sent with
	// its destination. The socket goes on if the method returns nil, as Base's does.
	OnError(c *Conn, err error) error

	// OnTimer: the time set by SetTimer has come.
	OnTimer(c *Conn) error

	// OnDrain: the server is shutting down and waits for the socket to be closed.
	// Base closes it.
	OnDrain(c *Conn)

	// OnClose: the socket has been closed, whether or not OnOpen was called; the
	// last call. err is nil after Close, else what ended it.
	OnClose(c *Conn, err error)
}

// Base implements all of Handler but OnPackets, each as its comment
// there says.
type Base struct{}

// OnOpen does nothing.
func (Base) OnOpen(*Conn) error { return nil }

// OnError does nothing: datagrams get lost.
func (Base) OnError(*Conn, error) error { return nil }

// OnTimer does nothing.
func (Base) OnTimer(*Conn) error { return nil }

// OnDrain closes the socket.
func (Base) OnDrain(c *Conn) { _ = c.Close() }

// OnClose does nothing.
func (Base) OnClose(*Conn, error) {}
