package packet

import (
	"context"
	"net"
)

// A NetConn is a datagram socket with the interfaces of package net.
type NetConn interface {
	net.Conn
	net.PacketConn
}

// NetConn returns the socket for code that uses package net. ReadFrom and WriteTo are for any
// socket, Read and Write for a connected one. Addresses are *net.UDPAddr or *net.UnixAddr. Its
// methods are for goroutines that are not workers', and return the errors of package net's sockets.
// Deadlines are those of the socket. Close closes the socket, and waits until its port is free.
func (s *DatagramSocket[A]) NetConn() NetConn { return netConn[A]{s} }

type netConn[A any] struct{ *DatagramSocket[A] }

func (c netConn[A]) LocalAddr() net.Addr { return c.codec.addr(c.local) }

func (c netConn[A]) RemoteAddr() net.Addr { return c.codec.addr(c.peer) }

func (c netConn[A]) Read(p []byte) (int, error) {
	if len(p) == 0 { // as in package net
		return 0, c.readNothing()
	}
	return c.Recv(context.Background(), p)
}

// readNothing is the error of a Read with an empty buffer.
func (s *DatagramSocket[A]) readNothing() error {
	if s.sock.Closed() {
		return s.opError("read", nil, net.ErrClosed)
	}
	return nil
}

func (c netConn[A]) Write(p []byte) (int, error) {
	if err := c.Send(context.Background(), p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c netConn[A]) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.RecvFrom(context.Background(), p)
	if err != nil {
		return n, nil, err
	}
	return n, c.codec.addr(from), nil
}

func (c netConn[A]) WriteTo(p []byte, addr net.Addr) (int, error) {
	to, err := c.codec.of(addr, c.kind.Wide)
	switch {
	case err == errAddressType:
	case c.dialed:
		err = net.ErrWriteToConnected
	}
	if err != nil {
		if err == errNoAddress {
			addr = nil
		}
		return 0, &net.OpError{Op: "write", Net: c.network, Source: c.LocalAddr(), Addr: addr, Err: err}
	}
	if err := c.SendTo(context.Background(), p, to); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c netConn[A]) Close() error {
	if err := c.DatagramSocket.Close(); err != nil {
		return err
	}
	return c.Closed(context.Background())
}
