//go:build unix

package conn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// With MaxMemory, receives were in flight on idle connections. All peers that sent at once were
// received from, however much was buffered already. Each cost a megabyte and more on io_uring, 64
// KiB on epoll. Now each is asked for after a look at the memory budget.

// burstOver is what the reads under way add to three quarters of a ceiling: of two workers, each of
// up to 128 KiB, and one more.
const burstOver = 3 * 128 << 10

// Sockets that nobody reads keep no more than the ceiling, however many send at once.
func TestABurstForSocketsThatNobodyReadsStaysBelowTheCeiling(t *testing.T) {
	const clients, ceiling, each = 100, 1 << 20, 1 << 20
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		sockets, conns := make([]net.Conn, clients), make([]net.Conn, clients)
		for i := range conns {
			c, err := dial(l.Addr())
			require.NoError(t, err)
			defer c.Close()
			conns[i] = c
			sockets[i], err = l.Accept()
			require.NoError(t, err)
			defer sockets[i].Close()
		}
		sent := make(chan error, clients)
		for _, c := range conns {
			go func() { sent <- writeAll(c, noise[:each]) }()
		}
		conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/2 })
		for range 50 {
			f.rounds(2)
			require.LessOrEqual(t, f.Buffered(), ceiling/4*3+burstOver)
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

// While a reader that takes nothing keeps memory short, what others send waits in the kernel:
// nobody is reset for having sent it, and all are answered once there is memory. TLS is no
// exception.
func TestABurstWhileMemoryIsShortResetsNobody(t *testing.T) {
	const clients, ceiling, greed, each = 60, 1 << 20, 15 << 16, 256 << 10
	s := newSecret(t)
	opened := func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) }
	handler := funcs{open: opened, data: func(c *conn.Conn) error {
		p, _ := c.Next(-1)
		if p[0] == '!' {
			p = noise[:greed]
		}
		_, err := c.Write(p)
		return err
	}}
	bounded := func(cfg *conn.Config) { cfg.MaxMemory, cfg.WriteTimeout = ceiling, 4*conntest.Patience }
	servers := map[string]func(t *testing.T, backend string) *fixture{
		"plain": func(t *testing.T, backend string) *fixture { return serve(t, backend, 2, handler, bounded) },
		"tls": func(t *testing.T, backend string) *fixture {
			return covered(t, backend, 2, s.server, handler, bounded)
		},
	}
	mine := bytes.Repeat([]byte("mine"), each/4)
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				f := start(t, backend)
				dial := func() net.Conn {
					c := small(f.dial())
					if name == "tls" {
						secure := tls.Client(c, s.client)
						require.NoError(t, secure.Handshake())
						c = secure
					}
					return c
				}
				conns := make([]net.Conn, clients)
				for i := range conns {
					conns[i] = dial()
				}
				greedy := dial()
				for _, c := range append(conns, greedy) { // all of them wait for memory by turns
					require.NoError(t, c.SetDeadline(time.Now().Add(3*conntest.Patience)))
				}
				write(t, greedy, "!")
				conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/4*3 })
				sent := make(chan error, clients)
				for _, c := range conns {
					go func() { sent <- writeAll(c, mine) }()
				}
				before := f.Buffered()
				for range 50 {
					f.rounds(2)
					require.LessOrEqual(t, f.Buffered(), before+burstOver)
				}
				require.Equal(t, noise[:greed], read(t, greedy, greed))
				conntest.Crowd(t, clients, clients, func(i int) error {
					got := make([]byte, each)
					if _, err := io.ReadFull(conns[i], got); err != nil {
						return err
					}
					if !bytes.Equal(got, mine) {
						return errors.New("an echo has changed")
					}
					return <-sent
				})
			})
		})
	}
}
