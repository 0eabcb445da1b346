//go:build !kqueue

package packet_test

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/sched"
)

// fillErrorQueue makes a socket keep an ICMP error that no read takes: from then on the kernel
// reports an error at all times.
func fillErrorQueue(t *testing.T, s syscall.Conn, send func(to *net.UDPAddr), read func() error) {
	t.Helper()
	setOption(t, s, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	gone := listenUDP(t, "udp4", "127.0.0.1:0")
	require.NoError(t, gone.Close())
	send(gone.LocalAddr().(*net.UDPAddr))
	require.ErrorIs(t, read(), syscall.ECONNREFUSED)
	require.NoError(t, rawOf(t, s).Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		_, err := unix.Poll(p, 0)
		require.NoError(t, err)
		require.Equal(t, int16(unix.POLLERR), p[0].Revents)
	}))
}

// The attempts are counted, since CPU time depends on the machine: a read that spins makes
// thousands.
func TestAnErrorQueueMakesNoReadSpin(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		counts := faults.New(1, faults.Rule{Call: faults.RecvFrom}) // it never strikes
		s := openSocket(t, newFixture(t, backend, workers, func(c *conn.Config) { faults.Into(&c.Reactor, counts) }))
		p := make([]byte, 100)
		fillErrorQueue(t, s,
			func(to *net.UDPAddr) { _, err := s.WriteTo([]byte("x"), to); require.NoError(t, err) },
			func() error { _, _, err := s.ReadFrom(p); return err })
		peer := peerTo(t, s)
		for range 3 {
			before, after := counts.Made(faults.RecvFrom), 0
			for d := 50 * time.Millisecond; after <= before; d *= 2 { // a busy machine may not begin in time
				require.Less(t, d, conntest.Patience, "it does not try to receive")
				require.NoError(t, s.SetReadDeadline(time.Now().Add(d)))
				_, _, err := s.ReadFrom(p)
				requireOpError(t, err, "read", os.ErrDeadlineExceeded)
				after = counts.Made(faults.RecvFrom)
			}
			require.Less(t, after-before, 10)
			require.NoError(t, s.SetReadDeadline(time.Now().Add(conntest.Patience)))
			for i := range 20 { // datagrams are received before a read and while it waits
				want := string(noise[i : i+10])
				got := make(chan string, 1)
				read := func() {
					n, _, err := s.ReadFrom(p)
					if err != nil {
						t.Error(err)
					}
					got <- string(p[:n])
				}
				if i%2 == 0 {
					go read()
				}
				write(t, peer, want)
				if i%2 != 0 {
					read()
				}
				require.Equal(t, want, conntest.Receive(t, got))
			}
		}
	})
}

// Several reads wait while the kernel reports changes only. One report may be for several
// datagrams, and each read gets one.
func TestReadsShareTheDatagramsOfAReport(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		p := make([]byte, 100)
		fillErrorQueue(t, s,
			func(to *net.UDPAddr) { _, err := s.WriteTo([]byte("x"), to); require.NoError(t, err) },
			func() error { _, _, err := s.ReadFrom(p); return err })
		peer := peerTo(t, s)
		for range 30 {
			const readers = 6
			done := make(chan error, readers)
			for range readers {
				go func() { _, _, err := s.ReadFromUDPAddrPort(make([]byte, 100)); done <- err }()
			}
			for range readers {
				write(t, peer, "hello")
			}
			for range readers {
				require.NoError(t, conntest.Receive(t, done))
			}
		}
	})
}

func TestAnErrorQueueMakesNoTaskSpin(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		raw, err := s.SyscallConn()
		require.NoError(t, err)
		p := make([]byte, 100)
		fillErrorQueue(t, syscallConn{raw},
			func(to *net.UDPAddr) { require.NoError(t, s.SendTo(t.Context(), []byte("x"), to.AddrPort())) },
			func() error { _, err := s.Recv(t.Context(), p); return err })
		var polls atomic.Int64
		got := sched.Spawn(f.Runtime(), counted(&polls, s.RecvFuture(p)))
		time.Sleep(50 * time.Millisecond) // not for anything to happen, but for nothing to
		require.Less(t, polls.Load(), int64(12))
		c := udpClient(t, s.LocalAddr())
		write(t, c, "one")
		n, err := got.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "one", string(p[:n]))

		// Waits without an attempt find an earlier datagram.
		write(t, c, "two")
		for range 3 {
			require.NoError(t, s.Readable(t.Context()))
		}
		readable := sched.Spawn(f.Runtime(), s.ReadableFuture())
		_, err = readable.Wait(t.Context())
		require.NoError(t, err)
		n, err = s.TryRecv(p)
		require.NoError(t, err)
		require.Equal(t, "two", string(p[:n]))
	})
}

type syscallConn struct{ raw syscall.RawConn }

func (c syscallConn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }
