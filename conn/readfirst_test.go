package conn_test

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// backlogged is a listener with a client that has connected, and done what it wants, before
// anything is accepted.
func backlogged(t *testing.T, client func(c *net.TCPConn)) net.Listener {
	t.Helper()
	ln := conntest.Listen(t)
	c, err := dial(ln.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	client(c.(*net.TCPConn))
	return ln
}

// A command that OnOpen has issued takes effect in the task's next run.
func TestWhatCameWithAConnectionIsReadInItsFirstRun(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "epoll" && backend != "io_uring" {
			t.Skip("the reactor reads all that comes")
		}
		for _, size := range []int{1, 64, 4095, 4096, 4097, 100_000} {
			want := strings.Repeat("x", size)
			ln := backlogged(t, func(c *net.TCPConn) {
				_, err := c.Write([]byte(want))
				require.NoError(t, err)
			})
			f := newFixture(t, backend, 1)
			order, got := make(chan string, 100), make(chan string, 100)
			l, err := f.Listen(ln, f.audit.of(funcs{
				open: func(c *conn.Conn) error {
					order <- "open"
					return c.Handle().Do(func(*conn.Conn) { order <- "command" })
				},
				data: func(c *conn.Conn) error {
					p, _ := c.Next(-1)
					order <- "data"
					got <- string(p)
					return nil
				},
			}))
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			all := ""
			for len(all) < size {
				all += conntest.Receive(t, got)
			}
			require.Equal(t, want, all)
			for _, step := range []string{"open", "data", "command"} {
				require.Equal(t, step, conntest.Receive(t, order), "%d bytes", size)
			}
		}
	})
}

func TestALeftoverOfWhatCameWithAConnectionWaitsForTheRest(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var client net.Conn
		ln := backlogged(t, func(c *net.TCPConn) {
			client = c
			_, err := c.Write([]byte("he"))
			require.NoError(t, err)
		})
		f := newFixture(t, backend, 1)
		seen := make(chan int, 2)
		l, err := f.Listen(ln, f.audit.of(funcs{data: func(c *conn.Conn) error {
			seen <- c.Buffered()
			if c.Buffered() < 5 {
				return nil
			}
			return echo(c)
		}}))
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		require.Equal(t, 2, conntest.Receive(t, seen))
		_, err = client.Write([]byte("llo"))
		require.NoError(t, err)
		p := make([]byte, 5)
		_, err = io.ReadFull(client, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
	})
}

// The end, or a reset, may be all that there is by the time of the first run.
func TestAConnectionThatIsOverBeforeItIsAcceptedClosesOnce(t *testing.T) {
	ends := []struct {
		name   string
		client func(c *net.TCPConn)
		want   error
	}{
		{"finished", func(c *net.TCPConn) { _ = c.Close() }, nil},
		{"reset", func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }, syscall.ECONNRESET},
	}
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				if end.want != nil && backend != "epoll" && backend != "io_uring" {
					t.Skip("other systems may drop it from the backlog, unseen")
				}
				ln := backlogged(t, end.client)
				f := newFixture(t, backend, 1)
				opened, closed := make(chan bool, 1), make(chan error, 2)
				l, err := f.Listen(ln, f.audit.of(funcs{
					open:  func(*conn.Conn) error { opened <- true; return nil },
					close: func(_ *conn.Conn, err error) { closed <- err },
				}))
				require.NoError(t, err)
				t.Cleanup(func() { _ = l.Close() })
				conntest.Receive(t, opened)
				if err := conntest.Receive(t, closed); end.want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, end.want)
				}
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
				require.Empty(t, closed)
			})
		})
	}
}
