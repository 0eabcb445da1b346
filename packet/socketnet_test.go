package packet_test

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// onNetSockets runs a test on all sockets that have package net's interfaces: those of onSockets,
// and the NetConn of a socket for tasks.
func onNetSockets(t *testing.T, test func(t *testing.T, s udpKind)) {
	onSockets(t, test)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ours := func(s *packet.UDPSocket, err error) socket {
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return s.NetConn().(socket)
		}
		t.Run("NetConn", func(t *testing.T) {
			test(t, udpKind{
				listen: func() socket {
					pc := listenUDP(t, "udp4", "127.0.0.1:0")
					defer pc.Close()
					return ours(packet.ListenUDP(f, pc))
				},
				dial: func(to net.Addr) socket { return ours(packet.DialUDP(f, to.(*net.UDPAddr).AddrPort())) },
			})
		})
	})
}

// Package net reads nothing then, and does not look at the deadline.
func TestAReadWithoutABufferReturnsAtOnce(t *testing.T) {
	onNetSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		client := s.dial(server.LocalAddr())
		for _, c := range []socket{server, client} {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(-time.Second)))
			n, err := c.Read([]byte{})
			require.NoError(t, err)
			require.Zero(t, n)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(conntest.Patience)))
		}
		_, err := client.Write([]byte("stays"))
		require.NoError(t, err)
		n, err := server.Read(nil)
		require.NoError(t, err)
		require.Zero(t, n)
		p := make([]byte, 10)
		n, _, err = server.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, "stays", string(p[:n]))
		require.NoError(t, server.Close())
		_, err = server.Read(nil)
		requireOpError(t, err, "read", net.ErrClosed)
	})
}

func TestErrorsOfAddressesAreAsNets(t *testing.T) {
	onNetSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		client := s.dial(server.LocalAddr())
		other := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
		to := server.LocalAddr()
		tooHigh := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1<<16 + to.(*net.UDPAddr).Port}
		negative := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: -1}
		for name, c := range map[string]struct {
			from socket
			addr net.Addr
			err  error    // nil: any
			says net.Addr // in the error
		}{
			"no address":                    {server, nil, syscall.EINVAL, nil},
			"another type":                  {server, other, syscall.EINVAL, other},
			"a nil pointer":                 {server, (*net.UDPAddr)(nil), nil, nil},
			"another family":                {server, &net.UDPAddr{IP: net.IPv6loopback, Port: 1}, nil, &net.UDPAddr{IP: net.IPv6loopback, Port: 1}},
			"connected, another type":       {client, other, syscall.EINVAL, other},
			"a port that is too high":       {server, tooHigh, syscall.EINVAL, tooHigh},
			"a negative port":               {server, negative, syscall.EINVAL, negative},
			"connected, no such port":       {client, tooHigh, net.ErrWriteToConnected, tooHigh},
			"connected":                     {client, to, net.ErrWriteToConnected, to},
			"connected, with a nil pointer": {client, (*net.UDPAddr)(nil), net.ErrWriteToConnected, nil},
		} {
			_, err := c.from.WriteTo([]byte("x"), c.addr)
			requireOpError(t, err, "write")
			if c.err != nil {
				require.ErrorIs(t, err, c.err, name)
			}
			var op *net.OpError
			require.ErrorAs(t, err, &op)
			if !errors.Is(err, net.ErrWriteToConnected) || c.says != nil { // package net names no address, ours the peer
				require.Equal(t, text0(c.says), text0(op.Addr), name)
			}
			require.Equal(t, c.from.LocalAddr().String(), op.Source.String(), name)
		}
		if runtime.GOOS != "linux" {
			return // other systems may refuse the address
		}
		at := to.(*net.UDPAddr)
		require.NoError(t, server.SetReadDeadline(time.Now().Add(conntest.Patience)))
		_, err := server.WriteTo([]byte("to this machine"), &net.UDPAddr{Port: at.Port})
		require.NoError(t, err)
		p := make([]byte, 100)
		n, _, err := server.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, "to this machine", string(p[:n]))
	})
}

// An IPv6 socket sends to itself by the unspecified address of either family, also one without
// IPv4.
func TestAnIPv6SocketSendsToTheUnspecifiedAddressAsNets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems may refuse the address")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		for _, network := range []string{"udp", "udp6"} {
			reference := listenUDP(t, network, "[::]:0")
			s, err := packet.ListenSocket(f, listenUDP(t, network, "[::]:0"))
			require.NoError(t, err)
			u, err := packet.ListenUDP(f, listenUDP(t, network, "[::]:0"))
			require.NoError(t, err)
			for _, c := range []net.PacketConn{reference, s, u.NetConn()} {
				require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
				port := c.LocalAddr().(*net.UDPAddr).Port
				for _, ip := range []net.IP{nil, net.IPv4zero, net.IPv4zero.To4(), net.IPv6unspecified} {
					_, err := c.WriteTo([]byte("x"), &net.UDPAddr{IP: ip, Port: port})
					require.NoError(t, err, "%T %s %v", c, network, ip)
					_, from, err := c.ReadFrom(make([]byte, 10))
					require.NoError(t, err)
					require.Equal(t, net.IPv6loopback.String(), from.(*net.UDPAddr).IP.String(), "%T %s %v", c, network, ip)
				}
				require.NoError(t, c.Close())
			}
		}
	})
}

func text0(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// A write without an address looks at the deadline and at Close before it misses the address.
func TestAWriteOfAnUnconnectedSocketFailsAsNets(t *testing.T) {
	onNetSockets(t, func(t *testing.T, s udpKind) {
		c := s.listen()
		_, err := c.Write([]byte("to nobody"))
		requireOpError(t, err, "write")
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(-time.Second)))
		_, err = c.Write([]byte("late"))
		requireOpError(t, err, "write", os.ErrDeadlineExceeded)
		require.NoError(t, c.Close())
		_, err = c.Write([]byte("later"))
		requireOpError(t, err, "write", net.ErrClosed)
	})
}

// Close waits for the functions of SyscallConn, as that of package net does.
func TestCloseWaitsForARawFunction(t *testing.T) {
	onSockets(t, func(t *testing.T, s udpKind) {
		c := s.listen()
		raw := rawOf(t, c.(syscall.Conn))
		closed := make(chan error, 1)
		require.NoError(t, raw.Write(func(uintptr) bool {
			go func() { closed <- c.Close() }()
			conntest.Eventually(t, func() bool { return errors.Is(raw.Control(func(uintptr) {}), net.ErrClosed) })
			time.Sleep(5 * time.Millisecond) // a Close that does not wait has mostly returned then
			require.Empty(t, closed, "the function runs")
			return true
		}))
		require.NoError(t, conntest.Receive(t, closed))
	})
}

func TestAFileIsACopyOfTheSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a socket is no file there")
	}
	onSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		client := s.dial(server.LocalAddr())
		for _, c := range []socket{server, client} {
			f, err := c.(filer).File()
			require.NoError(t, err)
			pc, err := net.FilePacketConn(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.Equal(t, c.LocalAddr().String(), pc.LocalAddr().String())
			require.NoError(t, pc.SetDeadline(time.Now().Add(conntest.Patience)))
			if c == client {
				_, err = server.WriteTo([]byte("hello"), c.LocalAddr())
			} else {
				_, err = client.Write([]byte("hello"))
			}
			require.NoError(t, err)
			p := make([]byte, 10)
			n, _, err := pc.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, "hello", string(p[:n]))
			require.NoError(t, pc.Close())
		}
		require.NoError(t, server.Close())
		_, err := server.(filer).File()
		requireOpError(t, err, "file", net.ErrClosed)
	})
}

type filer interface{ File() (*os.File, error) }
