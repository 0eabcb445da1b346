package packet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A socket has the methods that package net's sockets and ours have in common.
type socket interface {
	net.PacketConn
	net.Conn
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// udpKind makes listening and dialed sockets.
type udpKind struct {
	listen func() socket
	dial   func(to net.Addr) socket
}

// onSockets runs a test on package net's sockets, which are the reference, and on ours.
func onSockets(t *testing.T, test func(t *testing.T, s udpKind)) {
	t.Run("net", func(t *testing.T) {
		skipNetOnWindows(t)
		conntest.Guard(t)
		test(t, udpKind{
			listen: func() socket { return listenUDP(t, "udp4", "127.0.0.1:0") },
			dial: func(to net.Addr) socket {
				c, err := net.DialUDP("udp4", nil, to.(*net.UDPAddr))
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				return c
			},
		})
	})
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ours := func(s *packet.Socket, err error) socket {
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		test(t, udpKind{
			listen: func() socket {
				pc := listenUDP(t, "udp4", "127.0.0.1:0")
				defer pc.Close()
				return ours(packet.ListenSocket(f, pc))
			},
			dial: func(to net.Addr) socket { return ours(packet.DialSocket(f, to.(*net.UDPAddr).AddrPort())) },
		})
	})
}

func TestSocketReadsAndWritesAsNetDoes(t *testing.T) {
	onSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		client := s.dial(server.LocalAddr())
		require.NoError(t, server.SetDeadline(time.Now().Add(conntest.Patience)))
		require.NoError(t, client.SetDeadline(time.Now().Add(conntest.Patience)))
		require.Equal(t, server.LocalAddr().String(), client.RemoteAddr().String())
		p := make([]byte, 1<<16)
		for i, size := range []int{5, 0, 1, 1000, 65507} {
			n, err := client.Write(noise[i : i+size])
			require.NoError(t, err)
			require.Equal(t, size, n)
			n, from, err := server.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, string(noise[i:i+size]), string(p[:n]))
			require.Equal(t, client.LocalAddr().String(), from.String())
			n, err = server.WriteTo(p[:n], from)
			require.NoError(t, err)
			require.Equal(t, size, n)
			n, err = client.Read(p)
			require.NoError(t, err)
			require.Equal(t, string(noise[i:i+size]), string(p[:n]))
		}
		// A datagram that does not fit is cut off, and the next one is whole.
		for range 2 {
			_, err := client.Write(noise[:100])
			require.NoError(t, err)
		}
		n, _, err := server.ReadFrom(p[:10])
		require.NoError(t, err)
		require.Equal(t, 10, n)
		n, _, err = server.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, 100, n)

		_, err = server.WriteTo(make([]byte, 65508), client.LocalAddr())
		requireOpError(t, err, "write", syscall.EMSGSIZE)
		_, err = client.WriteTo(nil, server.LocalAddr())
		requireOpError(t, err, "write", net.ErrWriteToConnected)
		_, err = server.Write(nil)
		requireOpError(t, err, "write", syscall.EDESTADDRREQ)
		require.NoError(t, server.SetReadBuffer(1<<20))
		require.NoError(t, server.SetWriteBuffer(1<<20))
	})
}

func TestSocketAddressesAreAsNets(t *testing.T) {
	onSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		require.NoError(t, server.SetDeadline(time.Now().Add(conntest.Patience)))
		for _, c := range []socket{server, s.dial(server.LocalAddr())} {
			for _, addr := range []net.Addr{nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}} {
				_, err := c.WriteTo(nil, addr)
				requireOpError(t, err, "write", syscall.EINVAL)
			}
		}
		_, err := server.WriteTo(nil, (*net.UDPAddr)(nil))
		requireOpError(t, err, "write")
		_, err = server.WriteTo(nil, &net.UDPAddr{IP: net.IPv6loopback, Port: 1})
		requireOpError(t, err, "write")
		if runtime.GOOS != "linux" {
			return // other systems may refuse the address
		}
		at := *server.LocalAddr().(*net.UDPAddr)
		for _, ip := range []net.IP{nil, net.IPv4zero, at.IP.To16()} {
			_, err = server.WriteTo([]byte("to this machine"), &net.UDPAddr{IP: ip, Port: at.Port})
			require.NoError(t, err)
			p := make([]byte, 100)
			n, _, err := server.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, "to this machine", string(p[:n]))
		}
	})
}

func TestSocketReportsARefusal(t *testing.T) {
	if conntest.Wine() {
		t.Skip("Wine 8 forgets refusals")
	}
	onSockets(t, func(t *testing.T, s udpKind) {
		gone := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, gone.Close())
		client := s.dial(gone.LocalAddr())
		require.NoError(t, client.SetDeadline(time.Now().Add(conntest.Patience)))
		_, err := client.Write([]byte("anybody there?"))
		require.NoError(t, err)
		_, err = client.Read(make([]byte, 10))
		requireOpError(t, err, "read", syscall.ECONNREFUSED)
		back := listenUDP(t, "udp4", gone.LocalAddr().String())
		_, err = back.WriteTo([]byte("now"), client.LocalAddr())
		require.NoError(t, err)
		p := make([]byte, 10)
		n, err := client.Read(p)
		require.NoError(t, err)
		require.Equal(t, "now", string(p[:n]))
	})
}

func TestSocketDeadlinesAreAsNets(t *testing.T) {
	onSockets(t, func(t *testing.T, s udpKind) {
		c := s.listen()
		p := make([]byte, 10)
		for _, at := range []time.Time{time.Now().Add(-time.Second), time.Now().Add(10 * time.Millisecond)} {
			require.NoError(t, c.SetReadDeadline(at))
			for range 2 {
				_, _, err := c.ReadFrom(p)
				requireOpError(t, err, "read", os.ErrDeadlineExceeded)
				var ne net.Error
				require.ErrorAs(t, err, &ne)
				require.True(t, ne.Timeout())
			}
			require.False(t, time.Now().Before(at))
		}
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(-time.Second)))
		_, err := c.WriteTo(nil, c.LocalAddr())
		requireOpError(t, err, "write", os.ErrDeadlineExceeded)
		require.NoError(t, c.SetDeadline(time.Time{}))

		// A deadline that is set while a read waits ends it. One that is removed does not.
		for range 20 {
			read := make(chan error, 1)
			go func() { _, _, err := c.ReadFrom(make([]byte, 10)); read <- err }()
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
			require.NoError(t, c.SetReadDeadline(time.Time{}))
			require.NoError(t, c.SetReadDeadline(time.Now()))
			requireOpError(t, conntest.Receive(t, read), "read", os.ErrDeadlineExceeded)
			require.NoError(t, c.SetReadDeadline(time.Time{}))
		}
		_, err = c.WriteTo([]byte("still"), c.LocalAddr())
		require.NoError(t, err)
		n, _, err := c.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, "still", string(p[:n]))
	})
}

func TestSocketCloseEndsReadsAndFreesThePort(t *testing.T) {
	onSockets(t, func(t *testing.T, s udpKind) {
		for range 5 {
			c := s.listen()
			const readers = 5
			read := make(chan error, readers)
			for range readers {
				go func() { _, _, err := c.ReadFrom(make([]byte, 10)); read <- err }()
			}
			require.NoError(t, c.Close())
			for range readers {
				requireOpError(t, conntest.Receive(t, read), "read", net.ErrClosed)
			}
			_, _, err := c.ReadFrom(nil)
			requireOpError(t, err, "read", net.ErrClosed)
			_, err = c.WriteTo(nil, c.LocalAddr())
			requireOpError(t, err, "write", net.ErrClosed)
			requireOpError(t, c.Close(), "close", net.ErrClosed)
			requireOpError(t, c.SetDeadline(time.Now()), "set", net.ErrClosed)
			listenUDP(t, "udp4", c.LocalAddr().String())
		}
	})
}

func TestManyGoroutinesShareASocket(t *testing.T) {
	onSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		require.NoError(t, server.SetReadBuffer(4<<20))
		for range 4 {
			go func() {
				p := make([]byte, 2000)
				for {
					n, from, err := server.ReadFrom(p)
					if err != nil {
						return
					}
					if _, err := server.WriteTo(p[:n], from); err != nil {
						return
					}
				}
			}()
		}
		conntest.Each(t, 8, func(i int) error {
			c, err := net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			p := make([]byte, 2000)
			for j := range 200 {
				want := numbered(i, j)
				if _, err := c.Write(want); err != nil {
					return err
				}
				n, err := c.Read(p)
				if err != nil {
					return err
				}
				if string(p[:n]) != string(want) {
					return fmt.Errorf("%d/%d came back changed: %w", i, j, io.ErrUnexpectedEOF)
				}
			}
			return nil
		})
		require.NoError(t, server.Close())
	})
}

// The DNS client of package net asks a resolver that is a handler.
func TestAResolverAnswers(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		h := &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
			for _, p := range batch {
				if err := c.WriteTo(answerDNS(p.Data), p.From); err != nil {
					return err
				}
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp", at.String())
		}}
		for range 20 {
			got, err := r.LookupNetIP(t.Context(), "ip4", "suiro.example.")
			require.NoError(t, err)
			require.Equal(t, []netip.Addr{netip.MustParseAddr("192.0.2.7")}, got)
		}
	})
}

// answerDNS answers any question with 192.0.2.7.
func answerDNS(q []byte) []byte {
	end := 12
	for end < len(q) && q[end] != 0 {
		end += 1 + int(q[end])
	}
	end += 5
	if end > len(q) {
		panic(errors.New("no question"))
	}
	a := append([]byte(nil), q[:end]...)
	copy(a[2:], []byte{0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0})
	return append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7)
}
