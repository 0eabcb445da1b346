package conn

import "net/netip"

// A Packet is one datagram that was received.
type Packet struct {
	Data      []byte         // valid until the handler's method returns
	From      netip.AddrPort // the sender
	To        netip.Addr     // the address it was sent to, after WantDestination; else invalid
	Interface int            // the index of the interface it came by, after WantDestination; else 0
	Truncated bool           // Data is only the beginning: it was longer than reactor.Config.DatagramSize
}

// A PacketHandler is told what happens to a packet socket. Its methods are called
// for one socket by one goroutine at a time; what is said of Handler's goes for
// them: they run on the workers and must not block, an error that one returns
// closes the socket as PacketConn.Close does and is given to OnClose, and so is a
// panic.
//
// Embed PacketBase to implement only what you need.
type PacketHandler interface {
	// OnOpen: the socket is served from now on.
	OnOpen(c *PacketConn) error

	// OnPackets: datagrams have arrived, at least one, in the order in which the
	// kernel had them. What the method queues with WriteTo leaves in one system call
	// when all that had arrived is dealt with.
	OnPackets(c *PacketConn, batch []Packet) error

	// OnError: a datagram could not be sent, or the network said that an earlier
	// one did not arrive, as a closed port does to a connected socket
	// (ECONNREFUSED). err is a *net.OpError, of a datagram that was not sent with
	// its destination. The socket goes on if the method returns nil, as Base's does.
	OnError(c *PacketConn, err error) error

	// OnTimer: the time set by SetTimer has come.
	OnTimer(c *PacketConn) error

	// OnDrain: the server is shutting down and waits for the socket to be closed.
	// Base closes it.
	OnDrain(c *PacketConn)

	// OnClose: the socket has been closed, whether or not OnOpen was called; the
	// last call. err is nil after Close, else what ended it.
	OnClose(c *PacketConn, err error)
}

// PacketBase implements all of PacketHandler but OnPackets, each as its comment
// there says.
type PacketBase struct{}

// OnOpen does nothing.
func (PacketBase) OnOpen(*PacketConn) error { return nil }

// OnError does nothing: datagrams get lost.
func (PacketBase) OnError(*PacketConn, error) error { return nil }

// OnTimer does nothing.
func (PacketBase) OnTimer(*PacketConn) error { return nil }

// OnDrain closes the socket.
func (PacketBase) OnDrain(c *PacketConn) { _ = c.Close() }

// OnClose does nothing.
func (PacketBase) OnClose(*PacketConn, error) {}
