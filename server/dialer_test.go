package server_test

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func TestANameIsResolvedAndTheHandlerHearsOfOneConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		d := newClient(t, backend, workers, false)
		d.names.hosts["echo.test"] = []string{"127.0.0.1"}
		h := newTold()
		handle, err := d.Start("tcp", at("echo.test", l.port()), h)
		require.NoError(t, err)
		require.NoError(t, handle.Send([]byte("before"))) // waits for the connection
		c := conntest.Receive(t, h.opened)
		h.next(t, "before")
		require.Equal(t, handle, c.Handle())
		require.Equal(t, l.Addr().String(), handle.RemoteAddr().String())
		require.NoError(t, handle.Close())
		require.NoError(t, conntest.Receive(t, h.closed))
		require.Equal(t, 1, d.names.questions())
	})
}

func TestEachDialResolvesAnew(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		one, two := listenEcho(t, "tcp", "127.0.0.1:0"), listenEcho(t, "tcp", "127.0.0.2:0")
		d := newClient(t, backend, 2, false)
		for _, l := range []*listener{one, two} {
			d.names.mu.Lock()
			d.names.hosts["moves.test"] = []string{l.Addr().(*net.TCPAddr).IP.String()}
			d.names.mu.Unlock()
			h := newTold()
			handle, err := d.Start("tcp4", at("moves.test", l.port()), h)
			require.NoError(t, err)
			conntest.Receive(t, h.opened)
			require.NoError(t, handle.Send([]byte("x")))
			h.next(t, "x")
		}
		require.Equal(t, "x", one.received())
		require.Equal(t, "x", two.received())
	})
}

// Each form of a dial returns the connection to the caller that waits.
func TestTasksAndGoroutinesWaitForTheirConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		d := newClient(t, backend, workers, false)
		d.names.hosts["echo.test"] = []string{"127.0.0.1"}
		for name, dial := range map[string]func(addr string, h server.Handler) (server.Handle, error){
			"task": func(addr string, h server.Handler) (server.Handle, error) {
				return sched.Go(d.group.Runtime(), func(cx *sched.Context) (server.Handle, error) {
					return d.DialHandler(cx, "tcp", addr, h)
				}).Wait(t.Context())
			},
			"goroutine": func(addr string, h server.Handler) (server.Handle, error) {
				return d.DialHandler(t.Context(), "tcp", addr, h)
			},
		} {
			t.Run(name, func(t *testing.T) {
				h := newTold()
				handle, err := dial(at("echo.test", l.port()), h)
				require.NoError(t, err)
				require.Len(t, h.opened, 1, "OnOpen comes first")
				require.NoError(t, handle.Send([]byte("hello")))
				h.next(t, "hello")
				require.NoError(t, handle.Close())
				require.NoError(t, conntest.Receive(t, h.closed))

				h = newTold()
				_, err = dial("nobody.test:80", h)
				requireDNS(t, err)
				require.Empty(t, h.opened)
				require.Empty(t, h.closed)
			})
		}
	})
}

func requireDNS(t *testing.T, err error) {
	t.Helper()
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "dial", op.Op)
	var dns *net.DNSError
	require.ErrorAs(t, err, &dns)
	require.True(t, dns.IsNotFound)
}

func TestANameThatIsNotFoundIsToldOnce(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		d := newClient(t, backend, workers, false)
		h := newTold()
		handle, err := d.Start("tcp", "nobody.test:80", h)
		require.NoError(t, err)
		requireDNS(t, h.failed(t))
		conntest.Eventually(t, func() bool { return d.group.Len() == 0 })
		require.ErrorIs(t, handle.Send([]byte("x")), net.ErrClosed)

		_, err = d.Start("tcp", "127.0.0.1:nothing", h)
		require.NoError(t, err)
		requireDNS(t, h.failed(t))
	})
}

func TestAResolverThatPanicsFailsItsDialAlone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		d := newClient(t, backend, 2, false)
		d.names.panic = "in the resolver"
		h := newTold()
		_, err := d.Start("tcp", "some.test:80", h)
		require.NoError(t, err)
		var p *sched.PanicError
		require.ErrorAs(t, h.failed(t), &p)
		require.Equal(t, "in the resolver", p.Value)
	})
}

// A pool that is shut down makes no call; the dial must hear of it all the same.
func TestADialWhoseNameCannotBeResolvedByThePoolFails(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		d := newClient(t, backend, 2, false)
		d.Threads = blocking.New(blocking.Config{})
		require.NoError(t, d.Threads.Close())
		h := newTold()
		_, err := d.Start("tcp", "some.test:80", h)
		require.NoError(t, err)
		require.ErrorIs(t, h.failed(t), blocking.ErrClosed)
	})
}

func TestTheLocalAddressIsBoundAndDecidesTheFamily(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		_, four := both(t)
		l := serveEcho(t, four.Listen(t))
		d := newClient(t, backend, 2, true)
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 5)}
		for _, host := range []string{"both.test", "127.0.0.1"} {
			h := newTold()
			handle, err := d.Start("tcp", at(host, l.port()), h)
			require.NoError(t, err)
			conntest.Receive(t, h.opened)
			local := make(chan net.Addr, 1)
			require.NoError(t, handle.Do(func(c *server.Conn) { local <- c.LocalAddr() }))
			got := conntest.Receive(t, local).(*net.TCPAddr)
			require.Equal(t, "127.0.0.5", got.IP.String())
			require.NotZero(t, got.Port)
		}
		_, err := d.Start("tcp", "[::1]:1", newTold())
		var mismatch *net.AddrError
		require.ErrorAs(t, err, &mismatch)
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} // not ours
		_, err = d.Start("tcp", at("127.0.0.1", l.port()), newTold())
		require.ErrorIs(t, conn.Portable(err), syscall.EADDRNOTAVAIL)
		h := newTold()
		_, err = d.Start("tcp", at("both.test", l.port()), h)
		require.NoError(t, err)
		require.ErrorIs(t, h.failed(t), syscall.EADDRNOTAVAIL)
	})
}

func TestAPanicOfControlFailsItsAttempt(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		d := newClient(t, backend, 1, false)
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		d.Control = func(string, string, syscall.RawConn) error { panic("in Control") }
		h := newTold()
		_, err := d.Start("tcp", "both.test:1", h)
		require.NoError(t, err)
		var p *conn.PanicError
		require.ErrorAs(t, conntest.Receive(t, h.closed), &p)
		require.Panics(t, func() { _, _ = d.Start("tcp", "127.0.0.1:1", h) })
	})
}

func TestTheProxyHeaderArrivesFirst(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		d := newClient(t, backend, 2, false)
		d.names.hosts["echo.test"] = []string{"127.0.0.1"}
		sent := ""
		for version, add := range map[int]func([]byte, *proxyproto.Header) ([]byte, error){1: proxyproto.AppendV1, 2: proxyproto.AppendV2} {
			d.Proxy = &proxyproto.Header{Version: version, Command: proxyproto.Proxy, Transport: proxyproto.TCP4,
				Source: netip.MustParseAddrPort("192.0.2.7:4711"), Destination: netip.MustParseAddrPort("192.0.2.1:80")}
			want, err := add(nil, d.Proxy)
			require.NoError(t, err)
			for _, host := range []string{"echo.test", "127.0.0.1"} {
				h := newTold()
				handle, err := d.Start("tcp", at(host, l.port()), h)
				require.NoError(t, err)
				require.NoError(t, handle.Send([]byte("hello")))
				h.next(t, string(want)+"hello")
				sent += string(want) + "hello"
			}
		}
		require.Equal(t, sent, l.received())
		d.Proxy = &proxyproto.Header{Command: proxyproto.Proxy, Transport: proxyproto.TCP4}
		_, err := d.Start("tcp", l.Addr().String(), newTold())
		require.ErrorIs(t, err, proxyproto.ErrHeader)
	})
}

func TestUnixSocketsAreDialed(t *testing.T) {
	conntest.Need(t, "unix")
	conntest.Backends(t, func(t *testing.T, backend string) {
		path := t.TempDir() + "/socket"
		listenEcho(t, "unix", path)
		d := newClient(t, backend, 2, false)
		h := newTold()
		handle, err := d.DialHandler(t.Context(), "unix", path, h)
		require.NoError(t, err)
		require.NoError(t, handle.Send([]byte("hello")))
		h.next(t, "hello")
		_, err = d.DialHandler(t.Context(), "unix", path+"x", newTold())
		require.ErrorIs(t, conn.Portable(err), syscall.ENOENT)
	})
}

func TestAddressesAreReadAsNetDialReadsThem(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		six, four := both(t)
		l4, l6 := serveEcho(t, four.Listen(t)), serveEcho(t, six.Listen(t))
		d := newClient(t, backend, 2, false)
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		d.names.ports = map[string]int{"echo": l4.port()}
		port := at("", l4.port())
		for network, addr := range map[string]string{
			"tcp": port, "tcp4": port, "tcp6": port, "tcp 0": "0.0.0.0" + port, "tcp ::": "[::]" + port,
			"tcp service": "127.0.0.1:echo", "tcp4 name": "both.test:echo", "tcp6 name": "both.test:echo", "tcp mapped": "[::ffff:127.0.0.1]" + port,
		} {
			network, _, _ := cutSpace(network)
			h := newTold()
			_, err := d.DialHandler(t.Context(), network, addr, h)
			require.NoError(t, err, "%s %s", network, addr)
			want := l4.Addr().String()
			if network == "tcp6" || addr == "[::]"+port {
				want = l6.Addr().String()
			}
			require.Equal(t, want, conntest.Receive(t, h.opened).RemoteAddr().String(), "%s %s", network, addr)
		}
		for _, bad := range []struct{ network, addr string }{
			{"tcp", "127.0.0.1"}, {"tcp", "127.0.0.1:70000"}, {"tcp", "127.0.0.1:-1"}, {"tcp4", "[::1]:80"}, {"tcp6", "127.0.0.1:80"},
			{"ip", "127.0.0.1:80"}, {"udp", "127.0.0.1:80"},
		} {
			_, err := d.Start(bad.network, bad.addr, newTold())
			var op *net.OpError
			require.ErrorAs(t, err, &op, "%v", bad)
			require.Equal(t, "dial", op.Op)
			var unknown net.UnknownNetworkError
			require.Equal(t, bad.network[0] != 't', errors.As(err, &unknown))
		}
		d.names.hosts["six.test"] = []string{"::1"}
		_, err := d.DialHandler(t.Context(), "tcp4", "six.test:1", newTold())
		var none *net.AddrError
		require.ErrorAs(t, err, &none)
	})
}

func cutSpace(s string) (before, after string, ok bool) {
	for i := range s {
		if s[i] == ' ' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
