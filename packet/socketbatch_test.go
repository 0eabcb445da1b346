package packet_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

func TestSocketBatches(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		a, b := openSocket(t, f), openSocket(t, f)
		const n = 40 // more than one system call sends
		out := make([]ipv4.Message, n)
		for i := range out {
			p := numbered(i, 0)
			out[i] = ipv4.Message{Buffers: [][]byte{p[:3], p[3:]}, Addr: b.LocalAddr()}
		}
		sent, err := a.WriteBatch(out, 0)
		require.NoError(t, err)
		require.Equal(t, n, sent)
		in := make([]ipv4.Message, 7)
		for i := range in {
			in[i].Buffers = [][]byte{make([]byte, 2000)}
		}
		for next := 0; next < n; {
			got, err := b.ReadBatch(in, 0)
			require.NoError(t, err)
			require.Positive(t, got)
			for _, m := range in[:got] {
				require.Equal(t, string(numbered(next, 0)), string(m.Buffers[0][:m.N]))
				require.Equal(t, a.LocalAddr().String(), m.Addr.String())
				require.Equal(t, len(numbered(next, 0)), out[next].N)
				next++
			}
		}
		got, err := b.ReadBatch(nil, 0)
		require.NoError(t, err)
		require.Zero(t, got)

		// The messages before a bad one are sent, and no later one.
		for _, bad := range []net.Addr{&net.TCPAddr{}, nil, &net.UDPAddr{IP: net.IPv6loopback, Port: 1}} {
			out[33].Addr = bad
			sent, err = a.WriteBatch(out, 0)
			require.Equal(t, 33, sent)
			requireOpError(t, err, "write")
		}
		for left := 3 * 33; left > 0; {
			got, err := b.ReadBatch(in, 0)
			require.NoError(t, err)
			left -= got
			for _, m := range in[:got] {
				require.NotEqual(t, string(numbered(33, 0)), string(m.Buffers[0][:m.N]))
			}
		}
		_, err = b.ReadBatch(in, 1)
		requireOpError(t, err, "read", errors.ErrUnsupported)
		_, err = a.WriteBatch(out, 1)
		requireOpError(t, err, "write", errors.ErrUnsupported)
		require.NoError(t, b.SetReadDeadline(time.Now()))
		_, err = b.ReadBatch(in, 0)
		requireOpError(t, err, "read", os.ErrDeadlineExceeded)
	})
}

func TestAConnectedSocketsMessagesHaveNoAddress(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		to := openSocket(t, f)
		s, err := packet.DialSocket(f, to.LocalAddr().(*net.UDPAddr).AddrPort())
		require.NoError(t, err)
		defer s.Close()
		_, _, err = s.WriteMsgUDP([]byte("one"), nil, nil)
		require.NoError(t, err)
		n, err := s.WriteBatch([]ipv4.Message{{Buffers: [][]byte{[]byte("two")}}, {Buffers: nil}}, 0)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		n, _, err = s.WriteMsgUDPAddrPort([]byte("four"), nil, netip.AddrPort{})
		require.NoError(t, err)
		require.Equal(t, 4, n)
		p := make([]byte, 10)
		for _, want := range []string{"one", "two", "", "four"} {
			n, from, err := to.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, want, string(p[:n]))
			require.Equal(t, s.LocalAddr().String(), from.String())
		}
		_, _, err = s.WriteMsgUDP(nil, nil, to.LocalAddr().(*net.UDPAddr))
		requireOpError(t, err, "write", net.ErrWriteToConnected)
		_, _, err = s.WriteMsgUDPAddrPort(nil, nil, to.LocalAddr().(*net.UDPAddr).AddrPort())
		requireOpError(t, err, "write", net.ErrWriteToConnected)
		_, _, err = to.WriteMsgUDP(nil, nil, nil)
		requireOpError(t, err, "write")
		_, _, err = to.WriteMsgUDPAddrPort(nil, nil, netip.AddrPort{})
		requireOpError(t, err, "write")
		_, _, err = to.WriteMsgUDPAddrPort([]byte("back"), nil, s.LocalAddr().(*net.UDPAddr).AddrPort())
		require.NoError(t, err)
		n, _, _, from, err := s.ReadMsgUDPAddrPort(p, nil)
		require.NoError(t, err)
		require.Equal(t, "back", string(p[:n]))
		require.Equal(t, to.LocalAddr().(*net.UDPAddr).AddrPort(), from)
	})
}

func openSocket(t *testing.T, f *fixture) *packet.Socket {
	t.Helper()
	pc := listenUDP(t, "udp4", "127.0.0.1:0")
	defer pc.Close()
	s, err := packet.ListenSocket(f, pc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	require.NoError(t, s.SetDeadline(time.Now().Add(conntest.Patience)))
	return s
}

// Reads, writes, deadlines, raw calls and two closes run at the same time. Each call ends.
func TestASocketIsClosedWhileEverythingUsesIt(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		for range 30 {
			s := openSocket(t, f)
			raw := rawOf(t, s)
			var all sync.WaitGroup
			until := func(call func() error) {
				all.Go(func() {
					var err error
					for !errors.Is(err, net.ErrClosed) {
						if err = call(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
							t.Error(err)
							return
						}
					}
				})
			}
			for range 3 {
				until(func() error { _, _, err := s.ReadFrom(make([]byte, 10)); return err })
				until(func() error {
					_, err := s.ReadBatch([]ipv4.Message{{Buffers: [][]byte{make([]byte, 10)}}}, 0)
					return err
				})
			}
			until(func() error { _, err := s.WriteTo([]byte("x"), s.LocalAddr()); return err })
			until(func() error {
				_, err := s.WriteBatch([]ipv4.Message{{Buffers: [][]byte{{1}}, Addr: s.LocalAddr()}}, 0)
				return err
			})
			until(func() error { return raw.Control(func(uintptr) {}) })
			until(func() error { return raw.Write(func(uintptr) bool { return true }) })
			until(func() error { return s.SetReadBuffer(1 << 16) })
			until(func() error { return s.SetDeadline(time.Now().Add(time.Microsecond)) })
			closed := make(chan error, 2)
			for range 2 {
				go func() { closed <- s.Close() }()
			}
			one, other := conntest.Receive(t, closed), conntest.Receive(t, closed)
			require.True(t, (one == nil) != (other == nil), "one Close has closed it: %v, %v", one, other)
			all.Wait()
			listenUDP(t, "udp4", s.LocalAddr().String())
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}
