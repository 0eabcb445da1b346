package conn_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// turns counts the calls of OnData in each run of a connection's task: a command that the
// connection gives itself is obeyed at the beginning of the next one.
type turns struct {
	conn.Base
	read  int // at a time; below 0: everything
	calls int // in this run
	most  int // in any
	told  bool
	got   []byte
	ended chan struct{}
}

func (h *turns) OnData(c *conn.Conn) error {
	if !h.told {
		h.told = true
		if err := c.Handle().Do(func(*conn.Conn) { h.calls, h.told = 0, false }); err != nil {
			return err
		}
	}
	h.calls++
	h.most = max(h.most, h.calls)
	p, _ := c.Next(h.read)
	h.got = append(h.got, p...)
	return nil
}

func (h *turns) OnEOF(c *conn.Conn) error {
	close(h.ended)
	return c.Close()
}

func TestABusyConnectionLetsOthersHaveATurn(t *testing.T) {
	t.Run("one chunk, read byte by byte", func(t *testing.T) {
		conntest.Backends(t, func(t *testing.T, backend string) {
			h := &turns{read: 1, ended: make(chan struct{})}
			f := serve(t, backend, 1, h, func(cfg *conn.Config) { cfg.MaxRead = 1 })
			c := f.dial()
			write(t, c, noise[:1000])
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			conntest.Receive(t, h.ended)
			require.Equal(t, noise[:1000], h.got)
			require.Equal(t, 128, h.most)
		})
	})
	t.Run("many chunks at a time", func(t *testing.T) {
		conntest.Backends(t, func(t *testing.T, backend string) {
			h := &turns{read: -1, ended: make(chan struct{})}
			f := serve(t, backend, 1, h, func(cfg *conn.Config) {
				cfg.Reactor.Buffers, cfg.Reactor.BufferSize = 1024, 64
			})
			c := f.dial()
			const size = 600 * 64
			release := f.stick(0) // so that all of it is there at once
			write(t, c, noise[:size])
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			release()
			conntest.Receive(t, h.ended)
			require.Equal(t, noise[:size], h.got)
			require.LessOrEqual(t, h.most, 128)
		})
	})
}
