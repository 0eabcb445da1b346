package conn_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

func TestDialedConnectionsTalkToAccepted(t *testing.T) {
	for network, addr := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": ""} {
		t.Run(network, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := newFixture(t, backend, workers)
				if network == "unix" {
					conntest.Need(t, network)
					addr = t.TempDir() + "/socket"
				}
				f.listen(network, addr, funcs{data: echo})
				answers := make(chan string, 50)
				h := f.audit.of(funcs{
					open: func(c *conn.Conn) error {
						if c.RemoteAddr().String() != f.addr.String() || c.RemoteAddr().Network() != f.addr.Network() {
							return errors.New("RemoteAddr is " + c.RemoteAddr().String())
						}
						_, err := c.WriteString("hello")
						return err
					},
					data: func(c *conn.Conn) error {
						if c.Buffered() < 5 {
							return nil
						}
						p, _ := c.Next(-1)
						answers <- string(p)
						return c.Close()
					},
					close: func(_ *conn.Conn, err error) {
						if err != nil {
							answers <- err.Error()
						}
					},
				})
				for range 50 {
					_, err := f.Dial(f.addr, h)
					require.NoError(t, err)
				}
				for range 50 {
					require.Equal(t, "hello", conntest.Receive(t, answers))
				}
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		})
	}
}

func TestDialToAClosedPortEndsInOneECONNREFUSED(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		gone := nowhere(t)
		closed, tell := ends(2)
		f := newFixture(t, backend, 2)
		_, err := f.Dial(gone, f.audit.of(funcs{close: tell,
			open: func(*conn.Conn) error { t.Error("OnOpen"); return nil }}))
		require.NoError(t, err)
		err = conntest.Receive(t, closed)
		requireOpError(t, err, "dial", syscall.ECONNREFUSED)
		require.Contains(t, err.Error(), gone.String())
		if len(conntest.Networks(t, "unix")) > 0 {
			_, err = f.Dial(&net.UnixAddr{Net: "unix", Name: t.TempDir() + "/nobody"}, f.audit.of(funcs{close: tell}))
			require.NoError(t, err)
			requireOpError(t, conntest.Receive(t, closed), "dial", syscall.ENOENT)
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Empty(t, closed)
	})
}

// full is the address of a listener whose backlog is full, so that connecting
// to it takes as long as the test wants.
func full(t *testing.T) net.Addr {
	t.Helper()
	h := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
	h.Swallow(t)
	return h.Addr()
}

func TestCloseWhileConnectingEndsTheAttemptWithOneOnClose(t *testing.T) {
	ways := map[string]func(h conn.Handle) error{
		"Handle.Close":          conn.Handle.Close,
		"Handle.Abort":          conn.Handle.Abort,
		"Close in Do":           func(h conn.Handle) error { return h.Do(func(c *conn.Conn) { _ = c.Close() }) },
		"Close and Abort in Do": func(h conn.Handle) error { return h.Do(func(c *conn.Conn) { _ = c.Close(); c.Abort() }) },
		"panic in Do":           func(h conn.Handle) error { return h.Do(func(*conn.Conn) { panic(net.ErrClosed) }) },
		"twice":                 func(h conn.Handle) error { _ = h.Close(); return h.Close() },
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range ways {
			t.Run(name, func(t *testing.T) {
				addr := full(t)
				f := newFixture(t, backend, 2)
				for _, late := range []bool{false, true} { // before and while the kernel is at it
					closed, tell := ends(2)
					h, err := f.Dial(addr, f.audit.of(funcs{close: tell,
						open: func(*conn.Conn) error { t.Error("OnOpen"); return nil }}))
					require.NoError(t, err)
					if late {
						for range 3 {
							ran := make(chan struct{})
							require.NoError(t, h.Do(func(*conn.Conn) { close(ran) }))
							conntest.Receive(t, ran)
							runtime.Gosched()
						}
					}
					_ = end(h)
					require.ErrorIs(t, conntest.Receive(t, closed), net.ErrClosed)
					conntest.Eventually(t, func() bool { return f.Len() == 0 })
					require.Empty(t, closed)
				}
			})
		}
	})
}

// Bytes written before the connection is established wait for it, with or without Flush.
func TestWritesWhileConnectingAreSentAfterwards(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 2, funcs{data: echo})
		release := []func(){f.stick(0), f.stick(1)} // no task runs before all of the steps below are queued
		got := make(chan string, 1)
		closed, tell := ends(1)
		h, err := f.Dial(f.addr, f.audit.of(funcs{close: tell, data: func(c *conn.Conn) error {
			if c.Buffered() < 9 {
				return nil
			}
			p, _ := c.Next(-1)
			got <- string(p)
			return nil
		}}))
		require.NoError(t, err)
		require.NoError(t, h.Send([]byte("one")))
		require.NoError(t, h.Do(func(c *conn.Conn) {
			_, werr := c.WriteString("two")
			if err := errors.Join(werr, c.Flush()); err != nil {
				t.Error(err)
			}
		}))
		require.NoError(t, h.Send([]byte("six")))
		for _, r := range release {
			r()
		}
		select {
		case err := <-closed:
			t.Fatal(err)
		case text := <-got:
			require.Equal(t, "onetwosix", text)
		}
	})
}

func TestDialRefusesWhatItCannotDo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		_, err := f.Dial(&net.UDPAddr{}, funcs{})
		requireOpError(t, err, "dial", errors.ErrUnsupported)
		if len(conntest.Networks(t, "unix")) > 0 {
			closed, tell := ends(1)
			_, err = f.Dial(&net.UnixAddr{Net: "unix"}, f.audit.of(funcs{close: tell})) // no name
			require.NoError(t, err)
			requireOpError(t, conntest.Receive(t, closed), "connect", syscall.EINVAL)
		}
		require.NoError(t, f.Group.Close())
		_, err = f.Dial(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, funcs{})
		require.ErrorIs(t, err, sched.ErrClosed)
	})
}

func TestAConnectTimeoutEndsInOneErrorThatSaysSo(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		addr := full(t)
		closed, tell := ends(2)
		f := newFixture(t, backend, workers, func(cfg *conn.Config) { cfg.ConnectTimeout = 30 * time.Millisecond })
		_, err := f.Dial(addr, f.audit.of(funcs{close: tell, open: func(*conn.Conn) error { t.Error("OnOpen"); return nil }}))
		require.NoError(t, err)
		err = conntest.Receive(t, closed)
		requireOpError(t, err, "dial", os.ErrDeadlineExceeded)
		var ne net.Error
		require.ErrorAs(t, err, &ne)
		require.True(t, ne.Timeout())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Empty(t, closed)
	})
}

func TestAConnectTimeoutDoesNotConcernAnEstablishedConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 20*time.Millisecond, func(limit time.Duration, alive func()) error {
			f := serve(t, backend, 2, funcs{data: echo}, func(cfg *conn.Config) { cfg.ConnectTimeout = limit })
			opened, got, closed := make(chan struct{}, 1), make(chan string, 1), make(chan error, 1)
			h, err := f.Dial(f.addr, f.audit.of(funcs{
				open: func(*conn.Conn) error { opened <- struct{}{}; return nil },
				data: func(c *conn.Conn) error {
					p, _ := c.Next(-1)
					got <- string(p)
					return nil
				},
				close: func(_ *conn.Conn, err error) { closed <- err },
			}))
			require.NoError(t, err)
			select {
			case <-opened:
			case err := <-closed:
				return err
			case <-time.After(conntest.Patience):
				t.Fatal(conntest.Dump())
			}
			time.Sleep(3 * limit) // not for anything to happen, but for nothing to
			alive()
			require.NoError(t, h.Send([]byte("still here")))
			require.Equal(t, "still here", conntest.Receive(t, got))
			return nil
		})
	})
}
