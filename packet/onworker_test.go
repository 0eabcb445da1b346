package packet_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A read is for a goroutine. On a worker it succeeds only if a datagram is there.
func TestAReadOfASocketMustNotBlockAWorker(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: workers})
		require.NoError(t, err)
		defer g.Close()
		pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		s, err := packet.ListenSocket(g, pc)
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, pc.Close())
		read := func() error {
			h := sched.Spawn(g.Runtime(), sched.FutureFunc[int](func(*sched.Context) (int, error) {
				n, _, err := s.ReadFrom(make([]byte, 10))
				return n, err
			}))
			ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
			defer cancel()
			_, err := h.Wait(ctx)
			return err
		}
		err = read()
		require.ErrorIs(t, err, sched.ErrBlocksWorker)
		require.ErrorContains(t, err, "packet.Socket.ReadFrom on worker ")
		_, err = s.WriteTo([]byte("x"), s.LocalAddr())
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return read() == nil })
	})
}
