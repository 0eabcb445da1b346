//go:build !kqueue

package packet_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// sendJoined sends n datagrams of 100 bytes and a last one of 7 by one call. With UDP_GRO the
// receiver's kernel joins them. It returns the datagrams.
func sendJoined(t *testing.T, from *net.UDPConn, to net.Addr, n int) (sent []string) {
	t.Helper()
	var all []byte
	for i := range n {
		p := fmt.Appendf(nil, "%0100d", i)
		all, sent = append(all, p...), append(sent, string(p))
	}
	all, sent = append(all, "the end"...), append(sent, "the end")
	_, _, err := from.WriteMsgUDP(all, segments(100), to.(*net.UDPAddr))
	require.NoError(t, err)
	return sent
}

// batchOf is room for n datagrams with control messages.
func batchOf(n int) []ipv4.Message {
	ms := make([]ipv4.Message, n)
	for i := range ms {
		ms[i].Buffers, ms[i].OOB = [][]byte{make([]byte, 30), make([]byte, 1000)}, make([]byte, 200)
	}
	return ms
}

func text(m *ipv4.Message) string {
	p := append(append([]byte(nil), m.Buffers[0]...), m.Buffers[1]...)
	return string(p[:m.N])
}

func TestJoinedDatagramsAreReadOneByOne(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		p := make([]byte, 1000)
		read := map[string]func() []string{
			"ReadFrom": func() []string {
				n, from, err := s.ReadFrom(p)
				require.NoError(t, err)
				require.Equal(t, peer.LocalAddr(), from)
				return []string{string(p[:n])}
			},
			"ReadFromUDPAddrPort": func() []string {
				n, from, err := s.ReadFromUDPAddrPort(p)
				require.NoError(t, err)
				require.Equal(t, peer.LocalAddr().(*net.UDPAddr).AddrPort(), from)
				return []string{string(p[:n])}
			},
			"ReadMsgUDP": func() []string {
				n, controlled, flags, from, err := s.ReadMsgUDP(p, make([]byte, 100))
				require.NoError(t, err)
				require.Zero(t, controlled, "the length of segments is not for the reader")
				require.Zero(t, flags)
				require.Equal(t, peer.LocalAddr(), from)
				return []string{string(p[:n])}
			},
			"ReadMsgUDPAddrPort": func() []string {
				n, controlled, flags, from, err := s.ReadMsgUDPAddrPort(p, make([]byte, 100))
				require.NoError(t, err)
				require.Zero(t, controlled+flags)
				require.Equal(t, peer.LocalAddr().(*net.UDPAddr).AddrPort(), from)
				return []string{string(p[:n])}
			},
			"ReadBatch": func() (got []string) {
				ms := batchOf(8)
				n, err := s.ReadBatch(ms, 0)
				require.NoError(t, err)
				for i := range ms[:n] {
					require.Equal(t, peer.LocalAddr(), ms[i].Addr)
					require.Zero(t, ms[i].NN)
					got = append(got, text(&ms[i]))
				}
				return got
			},
		}
		write(t, peerTo(t, s), "the first read asks the kernel to join")
		_, _, err := s.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, 1, option(t, s, unix.SOL_UDP, unix.UDP_GRO))
		for name, read := range read {
			t.Run(name, func(t *testing.T) {
				var want, got []string
				for range 3 {
					want = append(want, sendJoined(t, peer, s.LocalAddr(), 61)...)
				}
				for len(got) < len(want) {
					got = append(got, read()...)
				}
				require.Equal(t, want, got)
			})
		}
	})
}

// peerTo is package net's socket that is connected to ours.
func peerTo(t *testing.T, s net.PacketConn) *net.UDPConn {
	return udpClient(t, s.LocalAddr().(*net.UDPAddr).AddrPort())
}

// The kernel reports a joined datagram once. Each of the reads that wait gets one of its parts.
func TestReadsThatWaitShareAJoinedDatagram(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		const readers = 31
		for range 20 {
			var mu sync.Mutex
			got := map[string]bool{}
			done := make(chan error, readers)
			for range readers {
				go func() {
					p := make([]byte, 1000)
					n, _, err := s.ReadFromUDPAddrPort(p)
					mu.Lock()
					got[string(p[:n])] = true
					mu.Unlock()
					done <- err
				}()
			}
			for _, sent := range sendJoined(t, peer, s.LocalAddr(), readers-1) {
				defer func() { require.True(t, got[sent], sent) }()
			}
			for range readers {
				require.NoError(t, conntest.Receive(t, done))
			}
		}
	})
}

func TestControlMessagesOfASocket(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
		for _, c := range []syscall.Conn{s, peer} {
			setOption(t, c, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
			setOption(t, c, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		}
		const ect1 = 1
		type messenger interface {
			net.PacketConn
			ReadMsgUDP(p, oob []byte) (n, oobn, flags int, from *net.UDPAddr, err error)
			WriteMsgUDP(p, oob []byte, to *net.UDPAddr) (n, oobn int, err error)
		}
		exchange := func(t *testing.T, from, to messenger) {
			mark := control(unix.IPPROTO_IP, unix.IP_TOS, []byte{ect1})
			n, controlled, err := from.WriteMsgUDP([]byte("marked"), mark, to.LocalAddr().(*net.UDPAddr))
			require.NoError(t, err)
			require.Equal(t, []int{6, len(mark)}, []int{n, controlled})
			p, oob := make([]byte, 3), make([]byte, 200)
			n, controlled, flags, sender, err := to.ReadMsgUDP(p, oob)
			require.NoError(t, err)
			require.Equal(t, "mar", string(p[:n]))
			require.Equal(t, unix.MSG_TRUNC, flags)
			require.Equal(t, from.LocalAddr().String(), sender.String())
			found := map[int32][]byte{}
			all, err := unix.ParseSocketControlMessage(oob[:controlled])
			require.NoError(t, err)
			for _, m := range all {
				require.Equal(t, int32(unix.IPPROTO_IP), m.Header.Level)
				found[m.Header.Type] = m.Data
			}
			require.Equal(t, []byte{ect1}, found[unix.IP_TOS])
			require.Equal(t, []byte{127, 0, 0, 1}, found[unix.IP_PKTINFO][8:12])

			_, _, err = from.WriteMsgUDP(nil, mark, to.LocalAddr().(*net.UDPAddr))
			require.NoError(t, err)
			n, controlled, flags, _, err = to.ReadMsgUDP(p, oob[:unix.CmsgSpace(1)])
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, unix.MSG_CTRUNC, flags)
			require.LessOrEqual(t, controlled, unix.CmsgSpace(1))
			_, _, err = from.WriteMsgUDP(nil, mark, to.LocalAddr().(*net.UDPAddr))
			require.NoError(t, err)
			_, controlled, flags, _, err = to.ReadMsgUDP(p, nil)
			require.NoError(t, err)
			require.Zero(t, controlled)
			require.Equal(t, unix.MSG_CTRUNC, flags)
			_, err = from.WriteTo([]byte("plain"), to.LocalAddr())
			require.NoError(t, err)
			n, _, err = to.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, "pla", string(p[:n]))
		}
		t.Run("to ours", func(t *testing.T) { exchange(t, peer, s) })
		t.Run("from ours", func(t *testing.T) { exchange(t, s, peer) })

		_, _, err := s.WriteMsgUDP(noise[:1050], segments(500), peer.LocalAddr().(*net.UDPAddr))
		require.NoError(t, err)
		p := make([]byte, 2000)
		for _, want := range []string{string(noise[:500]), string(noise[500:1000]), string(noise[1000:1050])} {
			n, _, err := peer.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, want, string(p[:n]))
		}
		_, _, err = s.WriteMsgUDP([]byte("x"), []byte("not a control message"), peer.LocalAddr().(*net.UDPAddr))
		requireOpError(t, err, "write", syscall.EINVAL)
		var call *os.SyscallError
		require.ErrorAs(t, err, &call)
		require.Equal(t, "sendmsg", call.Syscall, "libraries look for that")
	})
}

// A function that reads the descriptor itself cannot take joined datagrams apart.
func TestARawReadGetsSingleDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		raw := ipv4.NewPacketConn(s) // it reads by SyscallConn
		p := make([]byte, 10000)
		for range 3 {
			want := sendJoined(t, peer, s.LocalAddr(), 10)
			for range want {
				_, _, err := s.ReadFrom(p)
				require.NoError(t, err)
			}
			got := make(chan string, 20)
			go func() {
				defer close(got)
				ms := []ipv4.Message{{Buffers: [][]byte{p}}}
				for range want {
					if _, err := raw.ReadBatch(ms, 0); err != nil {
						t.Error(err)
						return
					}
					got <- string(p[:ms[0].N])
				}
			}()
			conntest.Eventually(t, func() bool { return option(t, s, unix.SOL_UDP, unix.UDP_GRO) == 0 })
			for _, w := range sendJoined(t, peer, s.LocalAddr(), 10) {
				require.Equal(t, w, conntest.Receive(t, got))
			}
			_, open := <-got
			require.False(t, open)
		}
	})
}

// A raw read cannot take the rest of a joined datagram. So it does not try for the rest. A read
// that waits behind it gets the rest.
func TestARawReadLeavesTheRestOfAJoinedDatagram(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		raw := rawOf(t, s)
		p := make([]byte, 1000)
		write(t, peerTo(t, s), "the first read asks the kernel to join")
		_, _, err := s.ReadFrom(p)
		require.NoError(t, err)
		want := sendJoined(t, peer, s.LocalAddr(), 10)
		_, _, err = s.ReadFrom(p)
		require.NoError(t, err)

		require.NoError(t, s.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		tries := 0
		err = raw.Read(func(uintptr) bool { tries++; return false })
		requireOpError(t, err, "raw-read", os.ErrDeadlineExceeded)
		require.Less(t, tries, 10, "nothing arrived after the first try")
		require.NoError(t, s.SetReadDeadline(time.Now().Add(conntest.Patience)))
		for _, w := range want[1:] {
			n, _, err := s.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, w, string(p[:n]))
		}

		// The raw read waits first. Reads that wait behind it get the datagrams, which the kernel
		// does not join any more.
		over := make(chan error, 1)
		waits := make(chan struct{})
		go func() {
			first := true
			over <- raw.Read(func(uintptr) bool {
				if first {
					close(waits)
					first = false
				}
				return false
			})
		}()
		conntest.Receive(t, waits)
		const readers = 5
		got := make(chan string, readers)
		for range readers {
			go func() {
				p := make([]byte, 1000)
				n, _, err := s.ReadFrom(p)
				if err != nil {
					t.Error(err)
				}
				got <- string(p[:n])
			}()
		}
		require.Zero(t, option(t, s, unix.SOL_UDP, unix.UDP_GRO))
		want = sendJoined(t, peer, s.LocalAddr(), readers-1)
		var all []string
		for range readers {
			all = append(all, conntest.Receive(t, got))
		}
		require.ElementsMatch(t, want, all)
		require.NoError(t, s.Close())
		requireOpError(t, conntest.Receive(t, over), "raw-read", net.ErrClosed)
	})
}

func TestAClosedSocketKeepsNoDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		p := make([]byte, 1000)
		write(t, peerTo(t, s), "the first read asks the kernel to join")
		_, _, err := s.ReadFrom(p)
		require.NoError(t, err)
		sendJoined(t, listenUDP(t, "udp4", "127.0.0.1:0"), s.LocalAddr(), 10)
		_, _, err = s.ReadFrom(p)
		require.NoError(t, err)
		require.True(t, packet.HasArrivals(s))
		require.NoError(t, s.Close())
		conntest.Eventually(t, func() bool { return !packet.HasArrivals(s) })
	})
}

// A socket of both families reports IPv4 senders by their IPv4 addresses. It sends to them by each
// form of their addresses.
func TestASocketOfBothFamilies(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s, err := packet.ListenSocket(newFixture(t, backend, workers), listenUDP(t, "udp", "[::]:0"))
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.SetDeadline(time.Now().Add(conntest.Patience)))
		port := s.LocalAddr().(*net.UDPAddr).Port
		p := make([]byte, 100)
		for network, ip := range map[string]net.IP{"udp4": net.IPv4(127, 0, 0, 1), "udp6": net.IPv6loopback} {
			peer := listenUDP(t, network, net.JoinHostPort(ip.String(), "0"))
			require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
			at := peer.LocalAddr().(*net.UDPAddr)
			for range 2 {
				_, err = peer.WriteTo([]byte("hello"), &net.UDPAddr{IP: ip, Port: port})
				require.NoError(t, err)
			}
			n, from, err := s.ReadFromUDPAddrPort(p)
			require.NoError(t, err)
			require.Equal(t, "hello", string(p[:n]))
			require.Equal(t, at.AddrPort().Addr().Unmap(), from.Addr())
			_, sender, err := s.ReadFromUDP(p)
			require.NoError(t, err)
			require.Equal(t, at.String(), sender.String())

			whole := netip.AddrPortFrom(netip.AddrFrom16(from.Addr().As16()), from.Port())
			for name, send := range map[string]func() error{
				"AddrPort":        func() error { _, err := s.WriteToUDPAddrPort([]byte("answer"), from); return err },
				"mapped AddrPort": func() error { _, err := s.WriteToUDPAddrPort([]byte("answer"), whole); return err },
				"UDPAddr":         func() error { _, err := s.WriteTo([]byte("answer"), sender); return err },
				"16 bytes": func() error {
					_, _, err := s.WriteMsgUDP([]byte("answer"), nil, &net.UDPAddr{IP: at.IP.To16(), Port: at.Port})
					return err
				},
				"batch": func() error {
					_, err := s.WriteBatch([]ipv4.Message{{Buffers: [][]byte{[]byte("answer")}, Addr: sender}}, 0)
					return err
				},
			} {
				require.NoError(t, send(), name)
				n, _, err = peer.ReadFromUDPAddrPort(p)
				require.NoError(t, err, name)
				require.Equal(t, "answer", string(p[:n]), name)
			}
		}
		_, err = s.WriteTo([]byte("to this machine"), &net.UDPAddr{Port: port})
		require.NoError(t, err)
		n, _, err := s.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, "to this machine", string(p[:n]))
	})
}
