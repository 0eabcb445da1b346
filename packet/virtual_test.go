package packet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A virtual clock begins with 0 and stands still, and a socket needs two ticks for its end.
func TestASocketClosesOnAVirtualClock(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := &fixture{t: t, log: &conntest.Log{}}
		cfg := conn.Config{Logger: f.log.Logger()}
		cfg.Reactor.Backend = backend
		var err error
		f.Group, err = conn.NewGroup(cfg, sched.Config{Workers: workers, Paused: true})
		require.NoError(t, err)
		t.Cleanup(f.close)
		for range 2 {
			s, err := packet.ListenSocket(f, listenUDP(t, "udp4", "127.0.0.1:0"))
			require.NoError(t, err)
			_, err = s.WriteTo([]byte("hello"), s.LocalAddr())
			require.NoError(t, err)
			p := make([]byte, 10)
			n, _, err := s.ReadFrom(p)
			require.NoError(t, err)
			require.Equal(t, "hello", string(p[:n]))
			require.NoError(t, s.Close())
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
	})
}
