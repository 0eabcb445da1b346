package conn_test

import (
	"crypto/tls"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A handshake's goroutine takes the connection's lock while it holds the layer's. A run that
// counts for MaxMemory what the handshake holds must not take them the other way round.
func TestARunThatCountsAHandshakeDoesNotHoldTheConnectionsLock(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		shaking, release := make(chan struct{}), make(chan struct{})
		cfg := s.server
		cfg.Config = cfg.Config.Clone()
		cfg.Config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			close(shaking)
			<-release
			return nil, nil
		}
		cfg.Timeout = -1
		f := covered(t, backend, 1, cfg, funcs{data: echo}, func(cfg *conn.Config) { cfg.MaxMemory = 1 << 20 })
		c := tls.Client(f.dial(), s.client)
		shaken := make(chan error, 1)
		go func() { shaken <- c.Handshake() }()
		conntest.Receive(t, shaking)

		h := conn.From(f.Group, c.LocalAddr())
		unlock := h.LockLayer()
		require.NoError(t, h.Do(func(*conn.Conn) {})) // a run, whose end waits for the layer's lock
		conntest.Eventually(t, func() bool { return strings.Contains(stacks(), "(*layer).holds") })
		told := make(chan error, 1)
		go func() { told <- h.Do(func(*conn.Conn) {}) }()
		select {
		case err := <-told:
			unlock()
			require.NoError(t, err)
		case <-time.After(conntest.Patience):
			unlock() // a Dump needs the connection's lock
			close(release)
			t.Fatal("the run waits for the layer's lock while it holds the connection's")
		}
		close(release)
		require.NoError(t, conntest.Receive(t, shaken))
		write(t, c, "hello")
		require.Equal(t, "hello", string(read(t, c, 5)))
	})
}

// stacks are those of all goroutines.
func stacks() string {
	for p := make([]byte, 1<<16); ; p = make([]byte, 2*len(p)) {
		if n := runtime.Stack(p, true); n < len(p) {
			return string(p[:n])
		}
	}
}
