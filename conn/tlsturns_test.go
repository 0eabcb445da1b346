package conn_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Clients that fall silent within their handshake hold no turn: one that goes on is
// served, although none of them ever moves and no time-out ends them.
func TestSilentHandshakesDoNotKeepOthersWaiting(t *testing.T) {
	const silent = 300
	s := newSecret(t)
	cfg := s.server
	cfg.MaxHandshakes = 1
	cfg.Timeout = -1
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := covered(t, backend, 2, cfg, funcs{data: echo})
		first := hello(t)
		for i := range silent {
			c := f.dial()
			write(t, c, first)
			if i%2 == 0 { // half of them begin a second message
				read(t, c, 1) // the server waits for it
				write(t, c, "\x14\x03\x03")
			}
		}
		for version := range tlsVersions {
			c := f.dialTLS(s.version(tlsVersions[version]))
			write(t, c, "served")
			require.Equal(t, "served", string(read(t, c, 6)))
		}
		conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == 0 })
	})
}

// A turn that a handshake is given while its connection ends is passed on, and one that
// waits for its turn to go on ends with its connection.
func TestTurnsOfEndedHandshakesAreNotLost(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		cfg := s.server
		cfg.MaxHandshakes = 1
		cfg.Timeout = -1
		entered, release := make(chan bool, 1), make(chan bool)
		cfg.Config = cfg.Config.Clone()
		cfg.Config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			if h.ServerName == "slow" {
				entered <- true
				<-release
			}
			return nil, nil
		}
		closed, onClose := ends(10)
		f := covered(t, backend, 2, cfg, funcs{data: echo, close: onClose})
		half := f.dial()
		write(t, half, hello(t))
		read(t, half, 1) // it waits for the client
		slow := f.dial()
		cfgSlow := s.client.Clone()
		cfgSlow.ServerName = "slow"
		go func() { _ = tls.Client(slow, cfgSlow).Handshake() }()
		conntest.Receive(t, entered)
		write(t, half, "\x14\x03\x03\x00\x01\x01") // now it waits for its turn
		conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == 1 })
		var late []net.Conn
		for i := range 3 {
			late = append(late, f.dial())
			write(t, late[i], hello(t))
			conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == i+2 })
		}
		shaken := make(chan error, 1)
		honest := f.dial()
		go func() { shaken <- tls.Client(honest, s.client).Handshake() }()
		conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == 5 })
		require.NoError(t, conn.From(f.Group, half.LocalAddr()).Abort())
		conntest.Receive(t, closed)
		conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == 4 })
		require.NoError(t, conn.From(f.Group, late[1].LocalAddr()).Abort())
		conntest.Receive(t, closed)
		conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == 3 })
		close(release)
		require.NoError(t, conntest.Receive(t, shaken))
	})
}
