//go:build unix

package packet_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// unixPair returns a socket for tasks, and a socket of package net that is connected to it.
func unixPair(t *testing.T, f *fixture, name, client string) (*packet.UnixDatagram, *net.UnixConn) {
	t.Helper()
	pc, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	s, err := packet.ListenUnixgram(f, pc)
	require.NoError(t, err)
	t.Cleanup(func() { closeTaskSocket(t, s) })
	c, err := net.DialUnix("unixgram", &net.UnixAddr{Name: client, Net: "unixgram"}, &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return s, c
}

func TestAUnixDatagramSocketHasTheFiguresOfItsAddress(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		name := filepath.Join(t.TempDir(), "s")
		s, c := unixPair(t, f, name, name+"c")
		_, err := c.Write([]byte("abc"))
		require.NoError(t, err)
		_, _, err = s.RecvFrom(t.Context(), make([]byte, 10))
		require.NoError(t, err)
		at := []string{"server.address=" + name, "network.transport=unix"}
		require.EqualValues(t, 1, figure(f, "suiro.active_packet_sockets", at...))
		require.EqualValues(t, 1, figure(f, "suiro.datagrams", append(at, "network.io.direction=receive")...))
	})
}

func TestATaskEchoesUnixDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		names := map[string]string{"path": filepath.Join(t.TempDir(), "s")}
		if runtime.GOOS == "linux" {
			names["abstract"] = "@" + strings.ReplaceAll(t.Name(), "/", "-")
		}
		for kind, name := range names {
			t.Run(kind, func(t *testing.T) {
				f := newFixture(t, backend, workers)
				s, c := unixPair(t, f, name, name+"c")
				echo := inTask(f, func(cx *sched.Context) error {
					p := make([]byte, 2000)
					for {
						n, from, err := s.RecvFrom(cx, p)
						switch {
						case errors.Is(err, net.ErrClosed):
							return nil
						case err != nil:
							return err
						case from != name+"c":
							return errors.New("the sender is " + from)
						}
						if err := s.SendTo(cx, p[:n], from); err != nil {
							return err
						}
					}
				})
				p := make([]byte, 2000)
				for i, size := range []int{5, 0, 1, 2000} {
					_, err := c.Write(noise[i : i+size])
					require.NoError(t, err)
					n, err := c.Read(p)
					require.NoError(t, err)
					require.Equal(t, string(noise[i:i+size]), string(p[:n]))
				}
				require.NoError(t, s.Close())
				require.NoError(t, conntest.Receive(t, echo))
			})
		}
	})
}

// A connected socket waits while the receiver's queue is full. Goroutines use both ends by NetConn.
func TestUnixDatagramsOfGoroutinesWaitForTheReceiver(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		name := filepath.Join(t.TempDir(), "s")
		s, c := unixPair(t, f, name, name+"c")
		d, err := packet.DialUnixgram(f, name+"d", name)
		require.NoError(t, err)
		from, to := s.NetConn(), d.NetConn()
		const all = 500 // far more than fit into a queue
		sent := make(chan error, 1)
		go func() {
			for i := range all {
				if _, err := to.Write(numbered(i, i)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		p := make([]byte, 2000)
		for i := range all {
			n, addr, err := from.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, string(numbered(i, i)), string(p[:n]))
			require.Equal(t, &net.UnixAddr{Name: name + "d", Net: "unixgram"}, addr)
		}
		require.NoError(t, conntest.Receive(t, sent))
		_, err = from.WriteTo([]byte("back"), to.LocalAddr())
		require.NoError(t, err)
		n, err := to.Read(p)
		require.NoError(t, err)
		require.Equal(t, "back", string(p[:n]))
		_, err = from.WriteTo([]byte("net"), c.LocalAddr())
		require.NoError(t, err)
		n, err = c.Read(p)
		require.NoError(t, err)
		require.Equal(t, "net", string(p[:n]))
		require.NoError(t, from.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		_, _, err = from.ReadFrom(p)
		requireOpError(t, err, "read", os.ErrDeadlineExceeded)
		require.NoError(t, to.Close())
		requireOpError(t, to.Close(), "close", net.ErrClosed)
		_, err = packet.DialUnixgram(f, "", name+"nobody")
		requireOpError(t, err, "dial", os.ErrNotExist)
	})
}

// A socket that waits for input is watched for input alone. A send that finds no room asks for
// more.
func TestASendWaitsForRoomWhileATaskWaitsForInput(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if runtime.GOOS != "linux" {
			t.Skip("other systems drop datagrams, or fail, when a queue is full")
		}
		f := newFixture(t, backend, workers)
		name := filepath.Join(t.TempDir(), "s")
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		d, err := packet.DialUnixgram(f, name+"d", name)
		require.NoError(t, err)
		t.Cleanup(func() { closeTaskSocket(t, d) })
		var reads, sends atomic.Int64
		p := make([]byte, 10)
		read := sched.Spawn(f.Runtime(), counted(&reads, d.RecvFuture(p)))
		conntest.Eventually(t, func() bool { return reads.Load() == 1 })
		queued := 0
		for err = d.TrySend([]byte("x")); err == nil; err = d.TrySend([]byte("x")) {
			queued++
		}
		require.ErrorIs(t, err, packet.ErrWouldBlock)
		sent := sched.Spawn(f.Runtime(), counted(&sends, d.SendFuture([]byte("last"))))
		conntest.Eventually(t, func() bool { return sends.Load() == 1 })
		for range queued {
			_, err := c.Read(p)
			require.NoError(t, err)
		}
		_, err = joined(t, sent)
		require.NoError(t, err)
		n, err := c.Read(make([]byte, 10))
		require.NoError(t, err)
		require.Equal(t, len("last"), n)
		_, err = c.WriteTo([]byte("answer"), &net.UnixAddr{Name: name + "d", Net: "unixgram"})
		require.NoError(t, err)
		n, err = joined(t, read)
		require.NoError(t, err)
		require.Equal(t, "answer", string(p[:n]))
	})
}

// The kernel does not report that the queue of another socket has room. A send that waits for room
// does not spin.
func TestAUnixDatagramWaitsForAFullQueueWithoutSpinning(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if runtime.GOOS != "linux" {
			t.Skip("other systems drop datagrams, or fail, when a queue is full")
		}
		f := newFixture(t, backend, workers)
		name := filepath.Join(t.TempDir(), "s")
		s, _ := unixPair(t, f, name, name+"c")
		to := name + "r"
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: to, Net: "unixgram"})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		fill := func() { // uses sockets whose own buffers have room until the queue is full
			for n := -1; n != 0; {
				d, err := packet.DialUnixgram(f, "", to)
				require.NoError(t, err)
				for n = 0; err == nil; n++ {
					err = d.TrySend([]byte("x"))
				}
				n--
				require.ErrorIs(t, err, packet.ErrWouldBlock)
				require.NoError(t, d.Close())
			}
		}
		fill()
		var polls atomic.Int64
		sends := sched.Spawn(f.Runtime(), counted(&polls, s.SendToFuture([]byte("last"), to)))
		conntest.Eventually(t, func() bool { return polls.Load() > 3 }) // it tries again
		p := make([]byte, 10)
		began, before := time.Now(), polls.Load()
		time.Sleep(50 * time.Millisecond) // not for anything to happen, but for nothing to
		polled := polls.Load() - before
		require.Less(t, polled, 10+2*time.Since(began).Milliseconds(), "it does not pause")
		var got string
		for got != "last" {
			n, err := c.Read(p)
			require.NoError(t, err)
			got = string(p[:n])
		}
		_, err = joined(t, sends)
		require.NoError(t, err)

		fill()
		waiting := func(send func(cx *sched.Context) error) <-chan error { return inTask(f, send) }
		batch := waiting(func(cx *sched.Context) error {
			n, err := s.SendBatch(cx, []packet.Message[string]{{Addr: to}})
			if err == nil || n != 0 {
				return errors.New("there was room")
			}
			return err
		})
		single := waiting(func(cx *sched.Context) error { return s.SendTo(cx, p, to) })
		require.NoError(t, s.SetWriteDeadline(time.Now().Add(10*time.Millisecond)))
		requireOpError(t, conntest.Receive(t, single), "write", os.ErrDeadlineExceeded)
		requireOpError(t, conntest.Receive(t, batch), "write", os.ErrDeadlineExceeded)
		require.NoError(t, s.SetWriteDeadline(time.Time{}))
		aborted := sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) { return struct{}{}, s.SendTo(cx, p, to) })
		blocked := make(chan error, 1)
		go func() { blocked <- s.SendTo(t.Context(), p, to) }()
		aborted.Abort()
		_, err = joined(t, aborted)
		require.ErrorIs(t, err, sched.ErrCanceled)
		require.NoError(t, s.Close())
		requireOpError(t, conntest.Receive(t, blocked), "write", net.ErrClosed)
	})
}

// A batch whose wait for room ends by the deadline has sent a part of it. The number is that of
// SendBatch, and the next poll sends the whole batch again.
func TestABatchFutureThatFailsSaysHowManyItSent(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if runtime.GOOS != "linux" {
			t.Skip("other systems drop datagrams, or fail, when a queue is full")
		}
		f := newFixture(t, backend, workers)
		name := filepath.Join(t.TempDir(), "s")
		to := name + "r"
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: to, Net: "unixgram"})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		s, err := packet.DialUnixgram(f, "", to)
		require.NoError(t, err)
		defer closeTaskSocket(t, s)
		const all = 5000 // more than a queue takes
		p, ms := make([]byte, 10), make([]packet.Message[string], all)
		send := s.SendBatchFuture(ms)
		for range 2 {
			require.NoError(t, s.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
			n, err := sched.Block(t.Context(), f.Runtime(), send)
			requireOpError(t, err, "write", os.ErrDeadlineExceeded)
			require.Less(t, n, all)
			require.Equal(t, send.Sent(), n)
			require.NoError(t, s.SetWriteDeadline(time.Time{}))
			for range n {
				_, err := c.Read(p)
				require.NoError(t, err)
			}
		}
		sent := make(chan int, 1)
		go func() {
			n, _ := sched.Block(t.Context(), f.Runtime(), send)
			sent <- n
		}()
		for range all {
			_, err := c.Read(p)
			require.NoError(t, err)
		}
		require.Equal(t, all, conntest.Receive(t, sent))
	})
}
