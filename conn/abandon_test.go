package conn_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// The waits for a connection that is being dialed end when the workers stop without its OnClose.
// The group has had no Socket before. Its descriptor stays open, so no Guard looks.
func TestADialInFlightEndsWithItsGroup(t *testing.T) {
	elsewhere := sched.New(sched.Config{Workers: 1})
	t.Cleanup(func() { require.NoError(t, elsewhere.Close()) })
	inTask := func(wait func(cx *sched.Context) error) error {
		_, err := sched.Go(elsewhere, func(cx *sched.Context) (struct{}, error) { return struct{}{}, wait(cx) }).Wait(context.Background())
		return err
	}
	waits := map[string]func(g *conn.Group, addr net.Addr) (conn.Handler, func() error){
		"WaitOpen": func(*conn.Group, net.Addr) (conn.Handler, func() error) {
			s := conn.NewSocket()
			return s.Handler(), func() error { return s.WaitOpen(context.Background()) }
		},
		"Read of a Socket": func(*conn.Group, net.Addr) (conn.Handler, func() error) {
			s := conn.NewSocket()
			return s.Handler(), func() error {
				_, err := s.Read(make([]byte, 1))
				return err
			}
		},
		"Write of a Stream": func(*conn.Group, net.Addr) (conn.Handler, func() error) {
			s := conn.NewStream()
			return s.Handler(), func() error {
				return inTask(func(cx *sched.Context) error {
					_, err := s.Bind(cx).Write([]byte("x"))
					return err
				})
			}
		},
		"Closed of a Stream": func(*conn.Group, net.Addr) (conn.Handler, func() error) {
			s := conn.NewStream()
			return s.Handler(), func() error {
				return inTask(func(cx *sched.Context) error {
					_, err := sched.Await(cx, s.Closed())
					return errors.Join(err, s.Socket().WaitOpen(context.Background()))
				})
			}
		},
		"DialSocketContext": func(g *conn.Group, addr net.Addr) (conn.Handler, func() error) {
			return nil, func() error {
				_, err := g.DialSocketContext(context.Background(), addr)
				return err
			}
		},
	}
	for _, backend := range reactor.Backends() {
		for name, wait := range waits {
			for _, shakes := range []bool{false, true} {
				if shakes && !strings.Contains(name, "Stream") {
					continue // a Socket cannot be the handler within TLS
				}
				t.Run(backend+", "+name+map[bool]string{true: " in a handshake"}[shakes], func(t *testing.T) {
					if _, err := reactor.Select(reactor.Config{Backend: backend}, nil); err != nil {
						t.Skipf("%s cannot start here: %v", backend, err)
					}
					addr := full(t)
					if shakes {
						addr = silent(t)
					}
					cfg := conn.Config{}
					cfg.Reactor.Backend = backend
					g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
					require.NoError(t, err)
					h, wait := wait(g, addr)
					if shakes {
						h = conn.ConnectTLS(conn.TLSConfig{Config: &tls.Config{InsecureSkipVerify: true}}, h)
					}
					if h != nil {
						_, err = g.Dial(addr, h)
						require.NoError(t, err)
					}
					ended := make(chan error, 1)
					go func() { ended <- wait() }()
					conntest.Eventually(t, func() bool { return g.Len() == 1 })
					require.NoError(t, g.Close())
					require.ErrorIs(t, conntest.Receive(t, ended), net.ErrClosed)
					requireNoHandshake(t)
				})
			}
		}
	}
}

// requireNoHandshake: no goroutine of a handshake is left.
func requireNoHandshake(t *testing.T) {
	t.Helper()
	conntest.Eventually(t, func() bool { return !inHandshake() })
}

// inHandshake reports whether a goroutine of a handshake runs.
func inHandshake() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "tlsmem.(*handshake)")
}

func TestAnAcceptedHandshakeEndsWithItsGroup(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		_, err = g.Listen(ln, conn.ServeTLS(s.server, funcs{}))
		require.NoError(t, err)
		client, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer client.Close()
		write(t, client, "\x16\x03\x01\x00\x01\x01") // a record with a part of a ClientHello
		conntest.Eventually(t, inHandshake)
		require.NoError(t, g.Close())
		requireNoHandshake(t)
	})
}

// The sockets of connections that are left when a group is closed are closed, too: those of
// accepted ones, of Streams and of dials to one or several addresses.
func TestCloseOfAGroupLeavesNoDescriptor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		shared := make(chan *conn.Socket, 1)
		_, err = g.Listen(ln, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
			cx.Shield()
			defer cx.Unshield()
			shared <- s.Socket()
			_, err := s.Read(make([]byte, 1))
			return err
		}))
		require.NoError(t, err)
		client, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer client.Close()
		s := conntest.Receive(t, shared)
		require.NoError(t, s.WaitOpen(t.Context()))
		for _, hole := range []net.Addr{full(t), full(t)} {
			_, err = g.DialWith(&conn.DialConfig{Addrs: []net.Addr{hole}}, funcs{})
			require.NoError(t, err)
			_, err = g.DialWith(&conn.DialConfig{Addrs: []net.Addr{hole, full(t)}}, funcs{})
			require.NoError(t, err)
		}
		conntest.Eventually(t, func() bool { return g.Len() == 5 })
		require.NoError(t, g.Close())
		_, err = s.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
		require.NotNil(t, s.LocalAddr())
		_, err = client.Read(make([]byte, 1))
		requireReset(t, err)
	})
}

// A dial that begins while the workers stop is refused, or its wait ends. Its socket is closed.
func TestADialThatRacesWithTheEndOfItsGroupEnds(t *testing.T) {
	conntest.Guard(t)
	addr := full(t)
	for range 50 {
		g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
		require.NoError(t, err)
		require.NoError(t, g.Runtime().Start())
		ended := make(chan error, 1)
		go func() {
			s := conn.NewSocket()
			_, err := g.Dial(addr, s.Handler())
			if err == nil {
				err = s.WaitOpen(context.Background())
			}
			ended <- err
		}()
		require.NoError(t, g.Close())
		err = conntest.Receive(t, ended)
		require.ErrorIs(t, err, net.ErrClosed)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
	}
}
