package conn_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Above three quarters of MaxMemory no OnData is called, not even for a peer that sends much.
func TestMaxMemoryHoldsBulksBack(t *testing.T) {
	const ceiling = 8 << 20
	conntest.Backends(t, func(t *testing.T, backend string) {
		var came, tight atomic.Int64
		f := serve(t, backend, 1, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
			data: func(c *conn.Conn) error {
				p, _ := c.Next(-1)
				if string(p) == "me" {
					_, err := c.Write(make([]byte, 6<<20+512<<10)) // the socket takes hardly any of it
					return err
				}
				came.Add(int64(len(p)))
				if c.Group().Buffered() > ceiling/4*3 {
					tight.Add(int64(len(p)))
				}
				return nil
			},
		}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.WriteTimeout = ceiling, time.Minute })
		bulk := f.dial()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := bulk.Write(noise); err != nil {
					return
				}
			}
		}()
		conntest.Eventually(t, func() bool { return came.Load() > 16<<20 }) // its task has long been reading itself
		slow := small(f.dial())
		write(t, slow, "me")
		conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/4*3 })
		time.Sleep(20 * time.Millisecond) // not for anything to happen, but for nothing to
		require.Zero(t, tight.Load(), "bytes came while memory was short")
		require.NoError(t, slow.Close())
		was := came.Load()
		conntest.Eventually(t, func() bool { return came.Load() > was+16<<20 }) // it goes on
		require.NoError(t, bulk.Close())
		<-ended
	})
}

// A held is a connection that keeps back all written bytes except the first ones.
type held struct {
	net.Conn
	begun bool
	rest  []byte
}

func (h *held) Write(p []byte) (int, error) {
	if h.begun {
		h.rest = append(h.rest, p...)
		return len(p), nil
	}
	h.begun = true
	return h.Conn.Write(p)
}

// A connection whose task has been reading itself begins TLS: from then on all that comes is
// decrypted, however much comes with the end of the handshake.
func TestABulkBeforeTLSDoesNotLeadPastIt(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var got bytes.Buffer
		var came atomic.Int64
		encrypted := conn.ServeTLS(s.server, funcs{data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			got.Write(p)
			came.Add(int64(len(p)))
			return nil
		}})
		f := newFixture(t, backend, workers)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := f.Listen(ln, funcs{data: func(c *conn.Conn) error {
			if p, _ := c.Next(-1); !bytes.HasSuffix(p, []byte("STARTTLS\n")) {
				return nil
			}
			if _, err := c.WriteString("go"); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
			return c.PassTo(encrypted)
		}})
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		f.addr = l.Addr()
		h := &held{Conn: f.dial()}
		write(t, h.Conn, append(bytes.Repeat([]byte{'x'}, 8<<20), "STARTTLS\n"...))
		read(t, h.Conn, 2)
		c := tls.Client(h, s.client)
		require.NoError(t, c.Handshake()) // with its second write, which ends it, the data is to come
		want := noise[:500<<10]
		_, err = c.Write(want)
		require.NoError(t, err)
		write(t, h.Conn, h.rest)
		conntest.Eventually(t, func() bool { return came.Load() >= int64(len(want)) })
		require.True(t, bytes.Equal(want, got.Bytes()), "of the %d bytes that came", got.Len())
		require.NoError(t, h.Conn.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.NoError(t, l.Close())
	})
}

// In OnData a connection is not fresh, whether the reactor or the task has read the bytes.
func TestAConnectionThatSendsMuchIsNotFresh(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var fresh, came atomic.Int64
		f := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			if c.Fresh() {
				fresh.Add(1)
			}
			came.Add(int64(len(p)))
			return nil
		}})
		c := f.dial()
		for i := range 50 {
			write(t, c, noise[:200<<10])
			conntest.Eventually(t, func() bool { return came.Load() == int64(i+1)*200<<10 })
		}
		require.Zero(t, fresh.Load())
		require.NoError(t, c.Close())
	})
}
