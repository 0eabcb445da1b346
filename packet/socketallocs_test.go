//go:build !race && !kqueue

package packet_test

import (
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// The bound is for a read and a write of a Socket, together with those of the worker's reactor.
func TestASocketAllocatesLittlePerDatagram(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" && backend != "epoll" {
			t.Skip("the bound is for the reactors of Linux; the emulated kqueue allocates itself")
		}
		f := newFixture(t, backend, 1)
		s, err := packet.ListenSocket(f, listenUDP(t, "udp4", "127.0.0.1:0"))
		require.NoError(t, err)
		defer s.Close()
		go func() {
			p := make([]byte, 2000)
			for {
				n, from, err := s.ReadFromUDPAddrPort(p)
				if err != nil {
					return
				}
				_ = s.SetDeadline(time.Now().Add(time.Hour))
				if _, err := s.WriteToUDPAddrPort(p[:n], from); err != nil {
					return
				}
			}
		}()
		c := udpClient(t, s.LocalAddr().(*net.UDPAddr).AddrPort())
		p := make([]byte, 1000)
		per := math.Inf(1)
		for range 5 { // what else runs in this process only adds
			per = min(per, testing.AllocsPerRun(300, func() {
				if _, err := c.Write(p); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(p); err != nil {
					t.Error(err)
				}
			}))
		}
		require.LessOrEqual(t, per, 4.0)
	})
}
