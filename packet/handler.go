package packet

import (
	"net/netip"
	"time"
)

// A Packet is one datagram that was received.
type Packet struct {
	Data      []byte         // valid until the handler's method returns
	From      netip.AddrPort // the sender
	To        netip.Addr     // its destination address: after WantDestination; else invalid
	Interface int            // the index of the receiving interface: after WantDestination; else 0
	Truncated bool           // it was longer than reactor.Config.DatagramSize, and Data is its beginning
	ECN       uint8          // its ECN bits, after WantECN: 1 ECT(1), 2 ECT(0), 3 congestion experienced; else 0
	TTL       uint8          // its TTL or hop limit, after WantTTL; else 0
	to        netip.Addr     // its destination address, if the kernel reports it
	device    int            // the index of the receiving interface, if the kernel reports it
	unicast   bool           // to is an address of this host
	at        int64          // in nanoseconds of Unix time; 0: not reported
}

// Time returns when the kernel received the datagram, after WantTimes. Otherwise it is the zero
// time.
func (p *Packet) Time() time.Time { return timeOf(p.at) }

func timeOf(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// A Handler has the callbacks of a packet socket. For one socket they are called by one goroutine
// at a time. As the callbacks of conn.Handler, they run on the workers and must not block. If one
// returns an error, the socket is closed as by Conn.Close, and OnClose gets the error. A panic
// closes the socket at once, and OnClose gets a *PanicError.
//
// Embed Base to implement only the methods you need.
type Handler interface {
	// OnOpen is called first: the socket is served from now on.
	OnOpen(c *Conn) error

	// OnPackets is called when datagrams have arrived. The batch has at least one, in the order in
	// which the kernel received them. Datagrams that the method queues with WriteTo leave in one
	// system call, after all arrived datagrams were handled. On a socket that is bound to an
	// unspecified address, all datagrams of a batch were sent to one address of this host (Linux).
	OnPackets(c *Conn, batch []Packet) error

	// OnError is called when a datagram could not be sent, or when the network reports that an
	// earlier one did not arrive. For instance, a closed port refuses the datagrams of a connected
	// socket (ECONNREFUSED). err is a *net.OpError. For a datagram that was not sent, it has the
	// destination. The socket goes on after any errno, if the method returns nil, as Base's does.
	OnError(c *Conn, err error) error

	// OnTimer is called at the time that SetTimer has set.
	OnTimer(c *Conn) error

	// OnDrain is called when the server is shutting down. The server waits until the socket is
	// closed. Base closes it.
	OnDrain(c *Conn)

	// OnClose is the last call: the socket has been closed. It comes also if OnOpen was not called.
	// err is nil after Close, and otherwise the error that ended the socket.
	OnClose(c *Conn, err error)
}

// Base implements all methods of Handler except OnPackets.
type Base struct{}

// OnOpen does nothing.
func (Base) OnOpen(*Conn) error { return nil }

// OnError does nothing: datagrams may be lost.
func (Base) OnError(*Conn, error) error { return nil }

// OnTimer does nothing.
func (Base) OnTimer(*Conn) error { return nil }

// OnDrain closes the socket.
func (Base) OnDrain(c *Conn) { _ = c.Close() }

// OnClose does nothing.
func (Base) OnClose(*Conn, error) {}
