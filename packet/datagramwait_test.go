package packet_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// Two sockets and a timer race, and the losers are dropped. No datagram is lost.
func TestASelectOfReceivesLosesNoDatagram(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		socks := []*packet.UDPSocket{listenTaskUDP(t, f), listenTaskUDP(t, f)}
		const each, inFlight = 500, 64 // the receive buffer has room for some more
		var taken [2]atomic.Uint32
		received := inTask(f, func(cx *sched.Context) error {
			next := [2]uint32{}
			p := [2][]byte{make([]byte, 8), make([]byte, 8)}
			for next[0] < each || next[1] < each {
				got, err := sched.Await(cx, sched.Select(
					sched.Any(socks[0].RecvFromFuture(p[0])),
					sched.Any(socks[1].RecvFromFuture(p[1])),
					sched.Any(sched.Sleep(time.Duration(1+next[0]%3)*time.Millisecond)),
				))
				switch {
				case err != nil:
					return err
				case got.Err != nil:
					return got.Err
				case got.Index == 2:
					continue
				}
				i := got.Index
				if n := got.Value.(packet.Received[netip.AddrPort]).N; n != 4 || binary.NativeEndian.Uint32(p[i]) != next[i] {
					return errors.New("a datagram is lost, or out of order")
				}
				next[i]++
				taken[i].Store(next[i])
			}
			return nil
		})
		sent := make([]<-chan error, 2)
		for i, s := range socks {
			sent[i] = inTask(f, func(cx *sched.Context) error {
				c, err := packet.DialUDP(f, s.LocalAddr())
				if err != nil {
					return err
				}
				defer c.Close()
				for n := range uint32(each) {
					if err := c.Send(cx, binary.NativeEndian.AppendUint32(nil, n)); err != nil {
						return err
					}
					for pause := n%16 == 15; pause; pause = n > taken[i].Load()+inFlight {
						if _, err := sched.Await(cx, sched.Sleep(time.Millisecond)); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
		for _, s := range sent {
			require.NoError(t, conntest.Receive(t, s))
		}
		require.NoError(t, conntest.Receive(t, received))
	})
}

// A stackless task polls a receive, whose buffer belongs to the future.
func TestAStacklessTaskReceives(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		p := make([]byte, 10)
		got := sched.Spawn(f.Runtime(), s.RecvFromFuture(p))
		c := udpClient(t, s.LocalAddr())
		_, err := c.Write([]byte("polled"))
		require.NoError(t, err)
		r, err := got.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "polled", string(p[:r.N]))
		require.Equal(t, c.LocalAddr().String(), r.From.String())
		_, err = sched.Spawn(f.Runtime(), s.SendToFuture([]byte("sent"), r.From)).Wait(t.Context())
		require.NoError(t, err)
		n, err := c.Read(p)
		require.NoError(t, err)
		require.Equal(t, "sent", string(p[:n]))
		_, err = sched.Spawn(f.Runtime(), s.WritableFuture()).Wait(t.Context())
		require.NoError(t, err)
		readable := sched.Spawn(f.Runtime(), s.ReadableFuture())
		_, err = c.Write([]byte("more"))
		require.NoError(t, err)
		_, err = readable.Wait(t.Context())
		require.NoError(t, err)
		n, err = s.TryRecv(p)
		require.NoError(t, err)
		require.Equal(t, "more", string(p[:n]))
		_, err = sched.Block(t.Context(), f.Runtime(), s.SendToFuture(p, netip.AddrPort{}))
		requireOpError(t, err, "write")
	})
}

// A call that was aborted while nothing arrived is in no list. The next call uses its memory.
func TestAnAbortedReceiveLeavesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		for range 50 {
			aborted := sched.Go(f.Runtime(), func(cx *sched.Context) (int, error) { return s.Recv(cx, make([]byte, 10)) })
			runtime.Gosched() // mostly it waits afterwards
			aborted.Abort()
			_, err := aborted.Wait(t.Context())
			require.ErrorIs(t, err, sched.ErrCanceled)
		}
		echo := inTask(f, echoTask(s))
		exchange(t, udpClient(t, s.LocalAddr()), "still")
		require.NoError(t, s.Close())
		require.NoError(t, conntest.Receive(t, echo))
	})
}

func TestCloseWakesTheTasksThatWaitInADatagramSocket(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		for _, end := range []func(s *packet.UDPSocket){
			func(s *packet.UDPSocket) { require.NoError(t, s.Close()) },
			func(*packet.UDPSocket) { f.Drain() },
			func(*packet.UDPSocket) { f.Abort() },
		} {
			s := listenTaskUDP(t, f)
			var ends []<-chan error
			for range 4 {
				ends = append(ends, inTask(f, func(cx *sched.Context) error { _, err := s.Recv(cx, make([]byte, 10)); return err }))
			}
			ends = append(ends, inTask(f, func(cx *sched.Context) error { return s.Readable(cx) }))
			blocked := make(chan error, 1)
			go func() { _, err := s.Recv(context.Background(), make([]byte, 10)); blocked <- err }()
			end(s)
			for _, e := range append(ends, blocked) {
				requireOpError(t, conntest.Receive(t, e), "read", net.ErrClosed)
			}
			require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error { return s.Closed(cx) })))
			listenUDP(t, "udp4", s.LocalAddr().String())
		}
	})
}

func TestAContextEndsAReceiveOfAGoroutine(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s := listenTaskUDP(t, f)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { _, _, err := s.RecvFrom(ctx, make([]byte, 10)); ended <- err }()
		cancel()
		require.Equal(t, context.Canceled, conntest.Receive(t, ended))
	})
}

func TestBatchesOfDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		require.NoError(t, s.SetReadBuffer(4<<20))
		c := dialTaskUDP(t, f, s.LocalAddr())
		const all = 70 // more than one system call takes
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			out := make([]packet.Message[netip.AddrPort], all)
			for i := range out {
				out[i].Data = numbered(i, i)
			}
			n, err := c.SendBatch(cx, out)
			require.NoError(t, err)
			require.Equal(t, all, n)
			in := make([]packet.Message[netip.AddrPort], 50)
			for i := range in {
				in[i].Data = make([]byte, 2000)
			}
			for got := 0; got < all; {
				n, err := s.RecvBatch(cx, in)
				require.NoError(t, err)
				require.Positive(t, n)
				for i, m := range in[:n] {
					require.Equal(t, string(numbered(got+i, got+i)), string(m.Data[:m.N]))
					require.Equal(t, c.LocalAddr(), m.Addr)
					in[i].Data = in[i].Data[:2000]
				}
				got += n
				back := make([]packet.Message[netip.AddrPort], n)
				for i := range back {
					back[i] = packet.Message[netip.AddrPort]{Data: in[i].Data[:in[i].N], Addr: in[i].Addr}
				}
				sent, err := s.SendBatch(cx, back)
				require.NoError(t, err)
				require.Equal(t, n, sent)
			}
			got, err := c.TryRecvBatch(in[:3])
			require.NoError(t, err)
			require.Equal(t, 3, got)

			// The message that cannot be sent ends the batch.
			bad := []packet.Message[netip.AddrPort]{{Data: []byte("good")}, {Data: make([]byte, 65508)}, {Data: []byte("late")}}
			n, err = c.SendBatch(cx, bad)
			require.Equal(t, 1, n)
			requireOpError(t, err, "write")
			n, err = s.SendBatch(cx, []packet.Message[netip.AddrPort]{{Data: nil, Addr: c.LocalAddr()}, {Data: nil}})
			require.Equal(t, 1, n)
			requireOpError(t, err, "write")
			return nil
		})))
	})
}

// A send waits for room. Neither a close nor an abort of the waiting task leaks memory.
func TestASendOfATaskWaitsForRoom(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		_ = s.SetReadBuffer(4 << 20)
		c := dialTaskUDP(t, f, s.LocalAddr())
		require.NoError(t, c.SetWriteBuffer(1)) // the kernel's minimum
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			for range 100 {
				if err := c.Send(cx, noise[:1000]); err != nil {
					return err
				}
			}
			return nil
		})))
	})
}

// echoBatches is echoTask with batches.
func echoBatches(s *packet.UDPSocket) func(cx *sched.Context) error {
	return func(cx *sched.Context) error {
		ms := make([]packet.Message[netip.AddrPort], 8)
		room := make([]byte, 8*2000)
		for {
			for i := range ms {
				ms[i].Data = room[i*2000:][:2000]
			}
			n, err := s.RecvBatch(cx, ms)
			if err != nil {
				return err
			}
			for i := range ms[:n] {
				ms[i].Data = ms[i].Data[:ms[i].N]
			}
			if _, err := s.SendBatch(cx, ms[:n]); err != nil {
				return err
			}
		}
	}
}

// A call is woken, and finds the socket closed when it has to wait again. It goes back to the
// pool. The next socket that uses it must not inherit the timer.
func TestASendThatCannotWaitAgainLeavesNoTimer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s := listenTaskUDP(t, f)
		left, err := joined(t, sched.Go(f.Runtime(), func(cx *sched.Context) (bool, error) {
			left, err := packet.AwaitClosed(cx, s)
			if err != net.ErrClosed {
				return left, fmt.Errorf("the wait ended with %w", err)
			}
			return left, nil
		}))
		require.NoError(t, err)
		require.False(t, left)
	})
}
