package conn_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A lateTLS is a listener whose one peer shakes hands when it is asked to.
func lateTLS(t *testing.T, s *secret) (addr net.Addr, shake func() *tls.Conn) {
	t.Helper()
	ln := conntest.Listen(t)
	return ln.Addr(), func() *tls.Conn {
		c, err := ln.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		secure := tls.Server(c, s.server.Config)
		require.NoError(t, secure.Handshake())
		return secure
	}
}

// sendEarly sends pieces of 1 KiB, each marked with its number, until one is refused. The
// task takes them out of its inbox meanwhile.
func (f *fixture) sendEarly(h conn.Handle, limit int) (sent []byte) {
	f.t.Helper()
	for i := 0; ; i++ {
		p := append([]byte{byte(i)}, noise[:1<<10-1]...)
		if err := h.Send(p); err != nil {
			require.ErrorIs(f.t, err, conn.ErrWriteQueueFull)
			return sent
		}
		sent = append(sent, p...)
		require.LessOrEqual(f.t, len(sent), limit, "nothing bounds what waits for the handshake")
		f.rounds(1)
	}
}

// Bytes sent before the handshake's end count against MaxWrite. They do not hold up the handshake
// itself, and all accepted bytes arrive, in order.
func TestWhatWaitsForAHandshakeIsBoundedByMaxWrite(t *testing.T) {
	const most = 64 << 10
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers, func(cfg *conn.Config) { cfg.HighWater, cfg.MaxWrite = 1<<10, most })
		addr, shake := lateTLS(t, s)
		h, err := f.Dial(addr, conn.ConnectTLS(conn.TLSConfig{Config: s.client, Timeout: -1}, funcs{}))
		require.NoError(t, err)
		sent := f.sendEarly(h, most+8<<10)
		require.GreaterOrEqual(t, len(sent), most/2)
		for i := range f.Connections() {
			require.GreaterOrEqual(t, i.Unsent, len(sent))
		}
		peer := shake()
		got := make([]byte, len(sent))
		_, err = io.ReadFull(peer, got)
		require.NoError(t, err)
		require.Equal(t, sent, got)
		conntest.Eventually(t, func() bool { return f.Excess() == 0 })
		require.NoError(t, h.Send([]byte("again")), "there is room again")
		require.NoError(t, h.Close())
		rest, err := io.ReadAll(peer)
		require.NoError(t, err)
		require.Equal(t, "again", string(rest))
	})
}

// Bytes sent before the handshakes' ends count against MaxWriteTotal, until the connections have
// ended.
func TestWhatWaitsForHandshakesIsBoundedByMaxWriteTotal(t *testing.T) {
	const conns, high, total = 8, 4 << 10, 64 << 10
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, func(cfg *conn.Config) {
			cfg.HighWater, cfg.MaxWrite, cfg.MaxWriteTotal = high, 1<<20, total
		})
		addr, _ := lateTLS(t, s)
		all := 0
		for range conns {
			h, err := f.Dial(addr, conn.ConnectTLS(conn.TLSConfig{Config: s.client, Timeout: -1}, funcs{}))
			require.NoError(t, err)
			sent := len(f.sendEarly(h, total+16<<10))
			require.GreaterOrEqual(t, sent, high/2)
			all += sent
		}
		require.LessOrEqual(t, all, total+conns*(high+8<<10))
		require.GreaterOrEqual(t, f.Excess(), int64(total/2), "what waits is counted")
		f.Abort()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Zero(t, f.Excess())
	})
}

// WriteTimeout ends a connection whose peer never completes the handshake, so that bytes queued for
// it do not keep others waiting for memory.
func TestWhatWaitsForAHandshakeHasWriteTimeout(t *testing.T) {
	const ceiling = 1 << 20
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, eofEcho(), func(cfg *conn.Config) {
			cfg.MaxMemory, cfg.MaxWrite, cfg.WriteTimeout = ceiling, ceiling, conntest.Patience/100
		})
		silent, _ := lateTLS(t, s)
		h, err := f.Dial(silent, conn.ConnectTLS(conn.TLSConfig{Config: s.client, Timeout: -1}, funcs{}))
		require.NoError(t, err)
		require.NoError(t, h.Send(make([]byte, ceiling-ceiling/8)))
		other, err := dial(f.addr)
		require.NoError(t, err)
		defer other.Close()
		_, err = other.Write([]byte("hello"))
		require.NoError(t, err)
		got := make([]byte, 5)
		_, err = io.ReadFull(other, got)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
		conntest.Eventually(t, func() bool { return f.Len() == 1 && f.Buffered() == 0 })
	})
}
