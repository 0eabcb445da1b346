package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Both peers send many times MaxRead before the splice begins. A handler that pauses reading then
// loses neither the connection nor a byte.
func TestASpliceBeginsWithPeersThatHaveSentMoreThanMaxRead(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, network := range conntest.Networks(t, "tcp", "unix") {
			p := newProxy(t, backend, workers, func(cfg *conn.Config) { cfg.MaxRead = 1 << 10 })
			p.late.Store(true)
			if network == "unix" {
				p.listen(network, t.TempDir()+"/socket", p.handler())
			}
			c := p.dial()
			o, err := p.accept()
			require.NoError(t, err)
			defer o.Close()
			sent := make(chan error, 2)
			const n = 1 << 20
			go func() { sent <- writeAll(c, noise[:n]) }()
			go func() { sent <- writeAll(o, noise[:n]) }()
			p.bothReceive()
			p.waiting.Range(func(a, b any) bool {
				p.begin(a.(conn.Handle), b.(conn.Handle))
				return true
			})
			require.Equal(t, noise[:n], read(t, o, n))
			require.Equal(t, noise[:n], read(t, c, n))
			for range 2 {
				require.NoError(t, conntest.Receive(t, sent))
			}
			require.NoError(t, c.Close())
			require.NoError(t, o.Close())
			p.ended(1)
		}
	})
}

// bothReceive waits until each end of the only pair has received, or ended because of that.
func (p *proxy) bothReceive() {
	p.t.Helper()
	conntest.Eventually(p.t, func() bool {
		received, ended := 0, 0
		for i := range p.Connections() {
			if i.Received > 0 {
				received++
			}
		}
		p.mu.Lock()
		ended = len(p.causes)
		p.mu.Unlock()
		return received+ended == 2
	}, "bytes at both ends")
}
