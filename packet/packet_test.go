package packet_test

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

func TestDatagramsOfEverySizeArriveWholeAndTooLongOnesFailAlone(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		var got atomic.Int64
		h := &funcs{lives: lives}
		h.packets = func(c *packet.Conn, batch []packet.Packet) error {
			for _, p := range batch {
				got.Add(1)
				if string(p.Data) == "too long" {
					err := c.WriteTo(make([]byte, 65508), p.From)
					require.ErrorIs(t, conn.Portable(err), syscall.EMSGSIZE)
					var op *net.OpError
					require.ErrorAs(t, err, &op)
				}
				if err := c.WriteTo(p.Data, p.From); err != nil {
					return err
				}
			}
			return nil
		}
		_, at := servePackets(t, f, h)
		c := udpClient(t, at)
		for i, n := range []int{0, 1, 0, 64, 1472, 1500, 9000, 0, 65507} {
			exchange(t, c, string(noise[i:i+n]))
		}
		exchange(t, c, "too long")

		// Boundaries are kept within batches and between them.
		const count = 500
		for i := range count {
			_, err := c.Write(noise[i : i+i%70])
			require.NoError(t, err)
		}
		p := make([]byte, 1<<16)
		for i := range count {
			n, err := c.Read(p)
			if err != nil {
				t.Fatalf("%d of %d: %v\n%s", i, count, err, conntest.Dump())
			}
			require.Equal(t, string(noise[i:i+i%70]), string(p[:n]))
		}
		require.EqualValues(t, count+10, got.Load())
	})
}

func TestARefusalOnAConnectedSocketIsAnErrorAndTheSocketLives(t *testing.T) {
	if conntest.Wine() {
		t.Skip("Wine 8 forgets refusals")
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		to := peer.LocalAddr().(*net.UDPAddr).AddrPort()
		require.NoError(t, peer.Close())
		fails, got := make(chan error, 10), make(chan string, 10)
		h := &funcs{lives: lives,
			fail: func(_ *packet.Conn, err error) error { fails <- err; return nil },
			packets: func(_ *packet.Conn, batch []packet.Packet) error {
				for _, p := range batch {
					got <- string(p.Data)
				}
				return nil
			},
		}
		handle, err := packet.Dial(f, to, h)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, handle.Send([]byte("anybody there?"), netip.AddrPort{}))
			err := conntest.Receive(t, fails)
			requireOpError(t, err, err.(*net.OpError).Op, syscall.ECONNREFUSED)
		}
		peer = listenUDP(t, "udp4", to.String())
		require.NoError(t, peer.SetReadDeadline(time.Now().Add(conntest.Patience)))
		_, err = peer.WriteToUDPAddrPort([]byte("now there is"), handle.LocalAddr())
		require.NoError(t, err)
		require.Equal(t, "now there is", conntest.Receive(t, got))
		require.NoError(t, handle.Send([]byte("good"), netip.AddrPort{}))
		p := make([]byte, 100)
		n, from, err := peer.ReadFromUDPAddrPort(p)
		require.NoError(t, err)
		require.Equal(t, "good", string(p[:n]))
		require.Equal(t, handle.LocalAddr(), from)
		require.Empty(t, fails)
		require.NoError(t, handle.Close())
	})
}

func TestAHundredThousandDatagramsComeBackWhole(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		var largest atomic.Int64
		h := &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
			if n := int64(len(batch)); n > largest.Load() {
				largest.Store(n)
			}
			return echoPackets(c, batch)
		}}
		_, at := servePackets(t, f, h)
		total, inFlight := 25_000, 32 // of each of four combinations; the smallest usual buffer has room
		switch {
		case conntest.Thorough:
			total = 100_000
		case testing.Short():
			total = 10_000
		}
		const clients, parts = 4, 10 // a part must not take longer than Each waits
		for range parts {
			conntest.Each(t, clients, func(i int) error {
				c := udpClient(t, at)
				p := make([]byte, 2048)
				sent, received := 0, 0
				for received < total/clients/parts {
					for sent < total/clients/parts && sent-received < inFlight {
						if _, err := c.Write(numbered(i, sent)); err != nil {
							return err
						}
						sent++
					}
					n, err := c.Read(p)
					if err != nil {
						return fmt.Errorf("%d of %d sent came back: %w", received, sent, err)
					}
					if string(p[:n]) != string(numbered(i, received)) {
						return fmt.Errorf("%d came back changed or out of order", received)
					}
					received++
				}
				return nil
			})
		}
		require.Greater(t, largest.Load(), int64(1), "datagrams were never handed over in batches")
	})
}

func TestReceivingDatagramsResumesWhenBuffersReturn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers, func(c *conn.Config) { c.Reactor.Datagrams, c.Reactor.DatagramSize = 4, 300 })
		entered, leave := make(chan bool), make(chan bool)
		var once sync.Once
		got := make(chan string, 1000)
		h := &funcs{lives: lives, packets: func(_ *packet.Conn, batch []packet.Packet) error {
			once.Do(func() { close(entered); <-leave }) // while it has buffers
			for _, p := range batch {
				got <- string(p.Data)
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		c := udpClient(t, at)
		const n = 200
		for i := range n {
			_, err := c.Write(fmt.Appendf(nil, "datagram %d", i))
			require.NoError(t, err)
			if i == 0 {
				conntest.Receive(t, entered)
			}
		}
		close(leave)
		for i := range n {
			require.Equal(t, fmt.Sprint("datagram ", i), conntest.Receive(t, got))
		}
	})
}

func TestATruncatedDatagramIsMarked(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1, func(c *conn.Config) { c.Reactor.DatagramSize = 100 })
		got := make(chan packet.Packet, 10)
		h := &funcs{lives: lives, packets: func(_ *packet.Conn, batch []packet.Packet) error {
			for _, p := range batch {
				p.Data = append([]byte(nil), p.Data...)
				got <- p
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		c := udpClient(t, at)
		for _, n := range []int{100, 101} {
			_, err := c.Write(noise[:n])
			require.NoError(t, err)
			p := conntest.Receive(t, got)
			require.Equal(t, noise[:100], p.Data)
			require.Equal(t, n > 100, p.Truncated)
			require.Equal(t, c.LocalAddr().(*net.UDPAddr).AddrPort(), p.From)
		}
	})
}
