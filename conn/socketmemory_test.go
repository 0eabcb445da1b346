package conn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Bytes that sockets keep for goroutines that do not read count against MaxMemory. Once the
// goroutines read, all bytes come, and no connection is reset.
func TestWhatSocketsKeepCountsForMaxMemory(t *testing.T) {
	const clients, ceiling, each = 120, 16 << 20, 512 << 10
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		sockets, sent := make([]*conn.Socket, clients), make(chan error, clients)
		conns := make([]net.Conn, clients)
		for i := range sockets {
			c, err := dial(l.Addr())
			require.NoError(t, err)
			defer c.Close()
			s, err := l.Accept()
			require.NoError(t, err)
			defer s.Close()
			conns[i], sockets[i] = c, s.(*conn.Socket)
		}
		for _, c := range conns {
			go func() { sent <- writeAll(c, noise[:each]) }()
		}
		conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/2 })
		for range 20 {
			f.rounds(2)
			kept := 0
			for _, s := range sockets {
				kept += s.Buffered()
			}
			require.LessOrEqual(t, kept, ceiling)
		}
		conntest.Crowd(t, clients, clients, func(i int) error {
			got := make([]byte, each)
			if _, err := io.ReadFull(sockets[i], got); err != nil {
				return err
			}
			if !bytes.Equal(got, noise[:each]) {
				return errors.New("what was kept has changed")
			}
			return <-sent
		})
		conntest.Eventually(t, func() bool { return f.Buffered() == 0 })
	}, func(cfg *conn.Config) { cfg.MaxMemory = ceiling })
}

// Handshakes in progress count, so that others do not begin, and all are served in the end.
func TestHandshakesInProgressCountForMaxMemory(t *testing.T) {
	const clients, workers, ceiling = 120, 2, 1 << 20
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		release := make(chan struct{})
		cfg := s.server
		cfg.Config = cfg.Config.Clone()
		cfg.Config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			<-release
			return nil, nil
		}
		cfg.MaxHandshakes, cfg.Timeout = -1, conntest.Patience
		f := covered(t, backend, workers, cfg, funcs{}, func(cfg *conn.Config) { cfg.MaxMemory = ceiling })
		f.rounds(1)
		stuck := f.stickAll(workers) // all have connected before the first begins
		shaken := make(chan error, clients)
		for range clients {
			c := tls.Client(f.dial(), s.client)
			go func() { shaken <- c.Handshake() }()
		}
		stuck()
		conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/2 })
		for range 50 {
			f.rounds(2)
			require.LessOrEqual(t, f.Buffered(), ceiling, "three quarters, and what a run for each worker adds")
		}
		close(release)
		for range clients {
			require.NoError(t, conntest.Receive(t, shaken))
		}
		conntest.Eventually(t, func() bool { return f.Buffered() == 0 })
	})
}
