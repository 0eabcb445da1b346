package server

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// DialUDP makes a UDP socket for tasks that is connected to an address. It waits until the name is
// resolved (see sched.Await). Nothing is sent, so it takes the first address to which there is a
// route. network is "udp", "udp4" or "udp6". Dialer.Near and FastOpen have no effect. With TLS or
// Proxy the error matches errors.ErrUnsupported.
func (d *Dialer) DialUDP(ctx context.Context, network, addr string) (*UDPSocket, error) {
	return dialPacket(ctx, d, network, addr, attachUDP)
}

// DialUDPFuture is DialUDP as a future, for one socket. Its first poll starts the dial. A dropped
// future makes no socket.
func (d *Dialer) DialUDPFuture(network, addr string) sched.Future[*UDPSocket] {
	return &packetDial[*UDPSocket]{dialer: d, network: network, addr: addr, attach: attachUDP}
}

func attachUDP(g *conn.Group, pc *net.UDPConn) (*UDPSocket, error) { return packet.ListenUDP(g, pc) }
