package server

import "github.com/suiro-go/suiro/packet"

// ListenPacket is Server.ListenPacket of a Server with zero values. The socket's workers are its
// own and stop when it is closed.
func ListenPacket(network, addr string) (*PacketSocket, error) {
	return new(Server).ListenPacket(network, addr)
}

// ListenPacket makes a UDP socket for ordinary goroutines on an address: a net.PacketConn with the
// methods of *net.UDPConn, and with ReadBatch and WriteBatch. So a library that takes a
// net.PacketConn, such as quic-go, gets it in place of one of package net. network is "udp", "udp4"
// or "udp6"; ":0" is any free port. The server's options for sockets apply; neither Handler nor
// Packets is needed. It may be called several times, and beside Serve. Each error is a
// *net.OpError.
//
// The goroutines make the system calls themselves. The workers only report when a socket is ready,
// and run as those of Listen do.
//
// Shutdown and Close close the socket, so that its calls return an error that matches
// net.ErrClosed. Shut down the code that uses the socket before. When the socket is closed, and
// nothing else is served, the workers stop.
func (s *Server) ListenPacket(network, addr string) (*PacketSocket, error) {
	u, err := listenDatagrams(s, s.startForGoroutines, network, addr, packet.ListenSocket)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	return u, nil
}
