package conn_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// served reports whether the server answers on a connection.
func served(c net.Conn) error {
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// requireRefused: a refusal may be seen by connect already.
func requireRefused(t *testing.T, c net.Conn, err error) {
	t.Helper()
	if err == nil {
		defer c.Close()
		err = served(c)
	}
	requireReset(t, err)
}

func TestAtMaxConnsTheNextIsResetAndSlotsReturn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) { cfg.MaxConns = 3 })
		for range 3 {
			var held []net.Conn
			for range 3 {
				c := f.dial()
				require.NoError(t, served(c))
				held = append(held, c)
			}
			for range 2 {
				c, err := dial(f.addr)
				requireRefused(t, c, err)
			}
			for _, c := range held {
				require.NoError(t, served(c), "those that are there are not concerned")
				require.NoError(t, c.Close())
			}
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
	})
}

func TestAtMaxConnsTheNextWaitsInTheBacklogUntilASlotReturns(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const limit, clients, each = 3, 12, 5
		var now, most atomic.Int64
		f := serve(t, backend, workers, funcs{data: echo,
			open:  func(*conn.Conn) error { most.Store(max(most.Load(), now.Add(1))); return nil },
			close: func(*conn.Conn, error) { now.Add(-1) },
		}, func(cfg *conn.Config) { cfg.MaxConns, cfg.Overflow = limit, conn.OverflowWait })
		f.listen("tcp", "127.0.0.1:0", funcs{data: echo}) // it waits as well, and must not take what the other needs
		f.crowd(clients*each, clients, func(_ int, c net.Conn) error {
			return served(c)
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.LessOrEqual(t, most.Load(), int64(limit))
	})
}

func TestAListenerClosesWithConnectionsThatWait(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, func(cfg *conn.Config) { cfg.MaxConns, cfg.Overflow = 1, conn.OverflowWait })
		l := f.listen("tcp", "127.0.0.1:0", funcs{data: echo})
		first := f.dial()
		require.NoError(t, served(first))
		second := f.dial()
		conntest.Eventually(t, func() bool { return l.Waits() })
		require.NoError(t, l.Close())
		require.Error(t, served(second))
		require.NoError(t, served(first))
	})
}

func TestMaxPerSourceResetsTheNextOfThatAddressAlone(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) { cfg.MaxPerSource = 2 })
		from := func(ip string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: conntest.Patience}
			c, err := d.Dial("tcp", f.addr.String())
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
				err = c.SetDeadline(time.Now().Add(conntest.Patience))
			}
			return c, err
		}
		requireServed := func(c net.Conn, err error) net.Conn {
			require.NoError(t, err)
			require.NoError(t, served(c))
			return c
		}
		one := requireServed(from("127.0.0.1"))
		requireServed(from("127.0.0.1"))
		c, err := from("127.0.0.1")
		requireRefused(t, c, err)
		requireServed(from("127.0.0.2"))
		require.NoError(t, one.Close())
		conntest.Eventually(t, func() bool {
			c, err := from("127.0.0.1")
			return err == nil && served(c) == nil
		}, "the slot returns")
	})
}

func TestPlacement(t *testing.T) {
	const workers, conns = 4, 40
	place := func(t *testing.T, backend string, p conn.Placement) (f *fixture, at func() []int) {
		f = serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) { cfg.Placement = p })
		return f, f.Begun
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		t.Run("round robin", func(t *testing.T) {
			f, begun := place(t, backend, conn.RoundRobin)
			for range conns {
				require.NoError(t, served(f.dial()))
			}
			require.Equal(t, []int{10, 10, 10, 10}, begun())
		})
		t.Run("source hash", func(t *testing.T) {
			f, begun := place(t, backend, conn.SourceHash)
			for range conns {
				require.NoError(t, served(f.dial()))
			}
			require.Contains(t, begun(), conns, "all come from one address")
		})
		t.Run("least connections", func(t *testing.T) {
			f, begun := place(t, backend, conn.LeastConnections)
			var mu sync.Mutex
			byWorker := map[int][]net.Conn{}
			for range conns {
				before := begun()
				c := f.dial()
				require.NoError(t, served(c))
				mu.Lock()
				for w, n := range begun() {
					if n > before[w] {
						byWorker[w] = append(byWorker[w], c)
					}
				}
				mu.Unlock()
			}
			require.Equal(t, []int{10, 10, 10, 10}, begun())
			for _, c := range byWorker[2] { // one worker loses its own
				require.NoError(t, c.Close())
			}
			conntest.Eventually(t, func() bool { return begun()[2] == 0 })
			for range 10 { // and gets the next ones
				require.NoError(t, served(f.dial()))
			}
			require.Equal(t, []int{10, 10, 10, 10}, begun())
		})
	})
}

func TestConnectionsListsThoseThereAre(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
			n, _ := c.Discard(-1)
			_, err := c.Write(make([]byte, 2*n))
			return err
		}})
		sent := map[string]int{}
		for i := range 5 {
			c := f.dial()
			write(t, c, make([]byte, 10*(i+1)))
			read(t, c, 20*(i+1))
			sent[c.LocalAddr().String()] = 10 * (i + 1)
		}
		conntest.Eventually(t, func() bool { // the last send may be about to be noticed
			n := 0
			for i := range f.Connections() {
				if i.RemoteAddr == nil || int(i.Received) != sent[i.RemoteAddr.String()] || i.Sent != 2*i.Received || i.Unsent != 0 {
					return false
				}
				n++
			}
			return n == 5
		})
		for i := range f.Connections() {
			require.NoError(t, i.Handle.Abort())
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		for range f.Connections() {
			t.Fatal("one is left")
		}
	})
}
