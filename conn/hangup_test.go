package conn_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// needResets skips a test where no reset is seen without a receive.
func needResets(t *testing.T) {
	t.Helper()
	if conntest.Wine() {
		t.Skip("Wine 8 tells AFD_POLL nothing of a reset while no receive is in flight")
	}
}

func requireHungUp(t *testing.T, err error) {
	t.Helper()
	requireOpError(t, err, "read", syscall.ECONNRESET)
}

// After the peer's FIN there is nothing more to receive, and the handler has yet to answer.
func TestAResetAfterTheFINEndsTheConnection(t *testing.T) {
	needResets(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 50
		ended := make(chan struct{}, n)
		closed, onClose := ends(n)
		serving := funcs{data: discard, eof: func(*conn.Conn) error { ended <- struct{}{}; return nil }, close: onClose}
		f := serve(t, backend, workers, serving)
		var peers []net.Conn
		for range n {
			c := f.dial()
			write(t, c, "question")
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			peers = append(peers, c)
		}
		for range n {
			conntest.Receive(t, ended)
		}
		require.Empty(t, closed, "a FIN is no reset")
		for i, c := range peers {
			reset(c)
			if i%2 == 0 {
				requireHungUp(t, conntest.Receive(t, closed))
			}
		}
		for range n / 2 {
			requireHungUp(t, conntest.Receive(t, closed))
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// The reset may arrive before the FIN has been reported.
func TestAResetRightAfterTheFINEndsTheConnection(t *testing.T) {
	needResets(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: discard, eof: func(*conn.Conn) error { return nil }})
		conntest.Each(t, 200, func(int) error {
			c, err := dial(f.addr)
			if err != nil {
				return err
			}
			_, err = c.Write([]byte("question"))
			_ = c.(*net.TCPConn).CloseWrite()
			reset(c)
			return err
		})
		conntest.Eventually(t, func() bool { return f.audit.opened.Load() == 200 && f.Len() == 0 })
	})
}

// Reading is paused and something has come since, so nothing receives.
func TestAResetEndsAConnectionWhoseReadingIsPaused(t *testing.T) {
	needResets(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		handles := make(chan conn.Handle, 1)
		closed, onClose := ends(1)
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.PauseRead()
		}, close: onClose})
		for _, finishes := range []bool{false, true} {
			c := f.dial()
			write(t, c, "first")
			h := conntest.Receive(t, handles)
			write(t, c, "second")
			settled(t, h)
			if finishes {
				require.NoError(t, c.(*net.TCPConn).CloseWrite())
				settled(t, h)
			}
			require.Empty(t, closed)
			reset(c)
			requireHungUp(t, conntest.Receive(t, closed))
		}
	})
}

// Bytes that have arrived for a paused connection stay where they are until it resumes reading.
func TestAPausedConnectionThatWasWatchedReadsOn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		handles, got := make(chan conn.Handle, 1), make(chan string, 100)
		closed, onClose := ends(1)
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			got <- string(p)
			handles <- c.Handle()
			return c.PauseRead()
		}, close: onClose})
		c := f.dial()
		write(t, c, "a")
		for _, next := range []string{"b", "c", "d", "e"} {
			h := conntest.Receive(t, handles)
			conntest.Receive(t, got)
			write(t, c, next)
			settled(t, h)
			require.Empty(t, got)
			require.NoError(t, h.Do(func(c *conn.Conn) { _ = c.ResumeRead() }))
		}
		h := conntest.Receive(t, handles)
		require.Equal(t, "e", conntest.Receive(t, got))
		require.NoError(t, h.Do(func(c *conn.Conn) { _ = c.ResumeRead() }))
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, closed))
	})
}

// A goroutine's Socket gets the bytes that came before the reset.
func TestASocketReadsWhatCameBeforeTheReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, func(cfg *conn.Config) { cfg.HighWater, cfg.LowWater = 4096, 1024 })
		l := f.open("tcp", conn.SocketListenerConfig{})
		c, err := dial(l.Addr())
		require.NoError(t, err)
		s, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, s.SetDeadline(time.Now().Add(conntest.Patience)))
		const n = 16 << 10 // more than the Socket takes by itself, and the peer sends it before it resets
		write(t, c, noise[:n])
		reset(c)
		p := make([]byte, n)
		got := 0
		for got < n && err == nil {
			var m int
			m, err = s.Read(p[got:])
			got += m
		}
		if !conntest.Wine() {
			require.Equal(t, n, got, "%v", err)
		}
		require.Equal(t, noise[:got], p[:got])
		_ = s.Close()
	})
}
