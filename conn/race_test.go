package conn_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// nowhere is an address where connecting is refused: a socket is bound there that does
// not listen.
func nowhere(t *testing.T) net.Addr {
	t.Helper()
	return conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0")).Addr()
}

// The handler and the handle mean one connection from the beginning, whichever attempt succeeds.
// Bytes that were sent before use that connection.
func TestARaceIsOneConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		for name, addrs := range map[string][]net.Addr{
			"the first":            {f.addr, full(t), nowhere(t)},
			"after a refusal":      {nowhere(t), f.addr, full(t)},
			"after a delay":        {full(t), f.addr},
			"after both":           {nowhere(t), full(t), nowhere(t), f.addr},
			"several would":        {f.addr, f.addr, f.addr},
			"after no socket":      {&net.UDPAddr{}, f.addr},
			"after a path of none": {&net.UnixAddr{Net: "unix", Name: t.TempDir() + "/none"}, f.addr},
		} {
			for _, find := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					got := make(chan string, 10)
					opened := make(chan *conn.Conn, 1)
					closed, tell := ends(1)
					h := f.audit.of(funcs{
						open:  func(c *conn.Conn) error { opened <- c; return nil },
						data:  func(c *conn.Conn) error { p, _ := c.Next(-1); got <- string(p); return nil },
						close: tell,
					})
					cfg := &conn.DialConfig{Addrs: addrs, Delay: 10 * time.Millisecond, Preface: []byte("first ")}
					canceled := make(chan struct{}, 2)
					if find {
						cfg.Addrs, cfg.Target = nil, &net.UnixAddr{Net: "tcp", Name: "a name"}
						cfg.Find = func(found func([]net.Addr, error)) func() {
							go found(addrs, nil)
							return func() { canceled <- struct{}{} }
						}
					}
					handle, err := f.DialWith(cfg, h)
					require.NoError(t, err)
					require.NoError(t, handle.Send([]byte("second")))
					c := conntest.Receive(t, opened)
					require.Equal(t, handle, c.Handle())
					text := ""
					for len(text) < len("first second") {
						text += conntest.Receive(t, got)
					}
					require.Equal(t, "first second", text)
					require.Equal(t, f.addr.String(), handle.RemoteAddr().String())
					require.NoError(t, handle.Close())
					require.NoError(t, conntest.Receive(t, closed))
					if find {
						conntest.Receive(t, canceled)
						require.Empty(t, canceled, "once")
					}
				})
			}
		}
	})
}

func TestARaceThatNobodyWinsHasAllErrors(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		one, two := nowhere(t), nowhere(t)
		for _, delay := range []time.Duration{0, -1} {
			closed, tell := ends(1)
			_, err := f.DialWith(&conn.DialConfig{Addrs: []net.Addr{one, &net.UDPAddr{}, two}, Delay: delay}, f.audit.of(funcs{close: tell}))
			require.NoError(t, err)
			err = conntest.Receive(t, closed)
			requireOpError(t, err, "dial", syscall.ECONNREFUSED, errors.ErrUnsupported)
			require.ErrorContains(t, err, one.String())
			require.ErrorContains(t, err, two.String())
		}
		_, err := f.DialWith(&conn.DialConfig{}, funcs{})
		requireOpError(t, err, "dial")
		for _, answer := range [][]net.Addr{nil, {one}} {
			closed, tell := ends(1)
			_, err := f.DialWith(&conn.DialConfig{Target: one, Find: func(found func([]net.Addr, error)) func() {
				found(answer, nil)
				found(nil, errTest) // a second answer means nothing
				return nil
			}}, f.audit.of(funcs{close: tell}))
			require.NoError(t, err)
			err = conntest.Receive(t, closed)
			requireOpError(t, err, "dial")
			require.NotErrorIs(t, err, errTest)
			require.Equal(t, answer != nil, errors.Is(conn.Portable(err), syscall.ECONNREFUSED))
		}
	})
}

// A race whose connection ends at any time leaves no descriptor and one OnClose.
func TestARaceThatIsEndedLeavesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		hole := full(t)
		for name, end := range map[string]func(h conn.Handle) error{
			"Close": conn.Handle.Close, "Abort": conn.Handle.Abort,
			"panic": func(h conn.Handle) error { return h.Do(func(*conn.Conn) { panic(errTest) }) },
			"Drain": func(conn.Handle) error { f.Drain(); return nil },
		} {
			for i := range 20 {
				closed, tell := ends(1)
				addrs := []net.Addr{hole, hole}
				if i%2 == 1 {
					addrs = append(addrs, f.addr) // it may be won
				}
				started := make(chan struct{}, 10)
				h, err := f.DialWith(&conn.DialConfig{Addrs: addrs, Delay: 10 * time.Millisecond, Control: func(string, string, syscall.RawConn) error {
					started <- struct{}{}
					return nil
				}}, f.audit.of(funcs{close: tell}))
				require.NoError(t, err, name)
				for range i % 4 {
					if i%2 == 0 && len(started) == 2 {
						break
					}
					conntest.Receive(t, started)
					if i%2 == 0 {
						break
					}
				}
				_ = end(h)
				_ = h.Abort() // Drain may have been too early
				conntest.Receive(t, closed)
			}
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

func TestAFindThatIsNotWantedAnyMoreIsCanceled(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2)
		asked, canceled := make(chan func([]net.Addr, error), 1), make(chan struct{}, 2)
		closed, tell := ends(2)
		h, err := f.DialWith(&conn.DialConfig{Target: &net.UnixAddr{Net: "tcp", Name: "a name"}, Timeout: 20 * time.Millisecond,
			Find: func(found func([]net.Addr, error)) func() {
				asked <- found
				return func() { canceled <- struct{}{} }
			}}, f.audit.of(funcs{close: tell}))
		require.NoError(t, err)
		require.Equal(t, "a name", h.RemoteAddr().String())
		found := conntest.Receive(t, asked)
		err = conntest.Receive(t, closed)
		requireOpError(t, err, "dial", os.ErrDeadlineExceeded)
		require.ErrorContains(t, err, "a name")
		conntest.Receive(t, canceled)
		found([]net.Addr{nowhere(t)}, nil) // too late
		require.Empty(t, canceled)
		require.Empty(t, closed)
	})
}

func TestADialNearAConnectionBeginsOnItsWorker(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		type outcome struct {
			at            int
			before, after []int
			err           error
		}
		out := make(chan outcome, 1)
		hole := full(t)
		f := newFixture(t, backend, 4)
		f.listen("tcp", "127.0.0.1:0", funcs{open: func(c *conn.Conn) error {
			o := outcome{at: c.Worker(), before: f.Begun()}
			_, o.err = f.DialWith(&conn.DialConfig{Addrs: []net.Addr{hole, hole}, Near: c}, funcs{})
			o.after = f.Begun()
			out <- o
			return nil
		}})
		for range 10 {
			f.dial()
			o := conntest.Receive(t, out)
			require.NoError(t, o.err)
			o.before[o.at]++
			require.Equal(t, o.before, o.after)
		}
	})
}

// PassTo is as if the connection were new. NotifyClose reports its end, whichever handler has it.
func TestAConnectionIsHandedOver(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		ended, opened := make(chan string, 10), make(chan struct{})
		h, err := f.Dial(f.addr, funcs{
			open: func(c *conn.Conn) error {
				c.NotifyClose(func() { ended <- "notified" })
				c.SetValue(1)
				close(opened)
				return c.SetReadDeadline(c.Now().Add(-time.Second))
			},
			deadline: func(*conn.Conn) error { return nil },
			close:    func(*conn.Conn, error) { ended <- "the first" },
		})
		require.NoError(t, err)
		conntest.Receive(t, opened)
		got := make(chan string, 10)
		second := funcs{
			open: func(c *conn.Conn) error {
				if c.Value() != nil {
					t.Error("the value is left")
				}
				_, err := c.WriteString("hello")
				return err
			},
			data:     func(c *conn.Conn) error { p, _ := c.Next(-1); got <- string(p); return nil },
			deadline: func(*conn.Conn) error { return errTest },
			close:    func(*conn.Conn, error) { ended <- "the second" },
		}
		require.NoError(t, h.Do(func(c *conn.Conn) {
			if !c.Fresh() || c.PassTo(second) != nil {
				t.Error("it was not as good as new")
			}
		}))
		text := ""
		for len(text) < 5 {
			text += conntest.Receive(t, got)
		}
		require.Equal(t, "hello", text)
		third := make(chan error, 1)
		require.NoError(t, h.Do(func(c *conn.Conn) {
			_ = c.CloseWrite()
			err := c.PassTo(funcs{})
			if c.Fresh() {
				err = nil
			}
			third <- err
		}))
		require.ErrorIs(t, conntest.Receive(t, third), net.ErrClosed)
		_ = h.Close()
		require.Equal(t, "the second", conntest.Receive(t, ended))
		require.Equal(t, "notified", conntest.Receive(t, ended))
		require.Empty(t, ended)
	})
}
