package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// unreachable waits until a server listens no more.
func unreachable(t *testing.T, addr net.Addr) {
	t.Helper()
	conntest.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr.String())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// Shutdown waits for a request in progress, and leaves what that needs from upstream, an idle
// connection of the pool, and the other server on the group.
func TestShutdownOnASharedGroupEndsItsOwnInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		b := newLateBackend(t)
		pool := &server.Pool{Dialer: server.Dialer{Group: func() *conn.Group { return g }}}
		t.Cleanup(func() { _ = pool.Close() })
		gate := &gateway{draining: make(chan bool, 1)}
		gate.ask = func(client server.Handle) {
			_, _ = pool.Start("tcp", b.addr, &upstream{client: client, done: pool.Put})
		}
		a, other := runOn(t, g, &server.Server{Handler: gate}), runOn(t, g, &server.Server{Handler: echo{}})
		elsewhere := other.dial()
		roundTrip(t, elsewhere, "before")
		c := a.dial()
		_, err := io.WriteString(c, "x")
		require.NoError(t, err)
		up := conntest.Receive(t, b.asked)
		stopped := make(chan struct{})
		go func() { defer close(stopped); shutDown(t, a) }()
		conntest.Receive(t, gate.draining)
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, a.served))
		unreachable(t, a.addr)
		roundTrip(t, elsewhere, "meanwhile")
		_, err = io.WriteString(up, "!")
		require.NoError(t, err)
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "!", string(p))
		require.NoError(t, c.Close())
		conntest.Receive(t, stopped)
		roundTrip(t, elsewhere, "after")
		conntest.Eventually(t, func() bool { return pool.Stats().Idle == 1 })
		handle, err := pool.Get(t.Context(), "tcp", b.addr, newTold())
		require.NoError(t, err)
		require.EqualValues(t, 1, pool.Stats().Dials, "the idle connection is used again")
		require.NoError(t, handle.Abort())
	})
}

// A request in progress is answered, as the last one of its connection, and an idle connection is
// closed; the other server on the group keeps its idle connection.
func TestShutdownOfHTTPOnASharedGroup(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g := sharedGroup(t, backend, 2)
		began, release := make(chan bool), make(chan bool)
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				began <- true
				<-release
			}
			_, _ = io.WriteString(w, "hello")
		})
		a, other := runOn(t, g, &server.Server{Handler: server.HTTP(slow)}), runOn(t, g, &server.Server{Handler: server.HTTP(slow)})
		side := &httpSide{T: t, ours: true}
		idle, busy, elsewhere := newWire(a.dial(), side), newWire(a.dial(), side), newWire(other.dial(), side)
		for _, w := range []*httpWire{idle, elsewhere} {
			w.send(hello)
			require.Contains(t, w.answer("GET"), "close=false")
		}
		busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		conntest.Receive(t, began)
		stopped := make(chan struct{})
		go func() { defer close(stopped); shutDown(t, a) }()
		require.Equal(t, `"", end: <nil>`, idle.end())
		elsewhere.send(hello)
		require.Contains(t, elsewhere.answer("GET"), "close=false")
		close(release)
		require.Contains(t, busy.answer("GET"), "close=true")
		require.Equal(t, `"", end: <nil>`, busy.end())
		conntest.Receive(t, stopped)
	})
}

// noted is a handler that says when its server has stopped.
type noted struct {
	echo
	group       *conn.Group
	began, left atomic.Int64 // calls of Shutdown; connections at the call of Stopped, or -1
}

func (h *noted) Configure(n *server.Needs) {
	n.Shutdown = func(*conn.Group) { h.began.Add(1) }
	n.Stopped = func() { h.left.Store(int64(h.group.Len())) }
}

func TestAServerOnAGroupTellsItsHandlerThatItHasStopped(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, began := range map[string]int64{"Shutdown": 1, "Close": 0} {
			g := sharedGroup(t, backend, 2)
			h := &noted{group: g}
			h.left.Store(-1)
			s := runOn(t, g, &server.Server{Handler: h})
			roundTrip(t, s.dial(), "x")
			if name == "Shutdown" {
				shutDown(t, s)
			} else {
				require.NoError(t, s.Close())
			}
			require.Equal(t, began, h.began.Load(), name)
			require.NotEqualValues(t, -1, h.left.Load(), "%s: Stopped was not called", name)
		}
	})
}

// The group lives on, so what serves net/http must not wait for its end.
func TestHTTPOnASharedGroupLeavesNoGoroutines(t *testing.T) {
	for end, stop := range map[string]func(t *testing.T, s *running){
		"Shutdown": shutDown,
		"Close":    func(t *testing.T, s *running) { require.NoError(t, s.Close()) },
	} {
		t.Run(end, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				g := sharedGroup(t, backend, 2)
				for range 3 {
					h := server.WithLinger(server.HTTP(site()), httpLinger)
					s := runOn(t, g, &server.Server{Handler: h})
					w := newWire(s.dial(), &httpSide{T: t, ours: true})
					w.send(hello)
					require.Contains(t, w.answer("GET"), "hello")
					stop(t, s)
				}
				conntest.Eventually(t, func() bool { return strings.Count(stacks(), "net/http.") == 0 }, "net/http goes on")
			})
		})
	}
}

type refusingPackets struct{ server.PacketBase }

var errPackets = errors.New("no such datagram")

func (refusingPackets) OnPackets(*server.PacketConn, []server.Packet) error { return errPackets }

type refusing struct{ server.Base }

func (refusing) OnOpen(*server.Conn) error { return errPackets }
func (refusing) OnData(*server.Conn) error { return nil }

// The log has the user's handler, not the one with which a server knows its own on a group.
func TestTheLogNamesHandlersOnASharedGroup(t *testing.T) {
	for want, serve := range map[string]func() *server.Server{
		"handler=server_test.refusingPackets error=": func() *server.Server {
			return &server.Server{Network: "udp", Packets: refusingPackets{}}
		},
		"handler=server_test.refusing error=": func() *server.Server { return &server.Server{Handler: refusing{}} },
	} {
		conntest.Backends(t, func(t *testing.T, backend string) {
			log := &conntest.Log{Level: slog.LevelDebug}
			g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}, Logger: log.Logger()}, sched.Config{Workers: 1})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, g.Stop(context.Background())) })
			c := runOn(t, g, serve()).dial()
			_, _ = io.WriteString(c, "x")
			conntest.Eventually(t, func() bool { return log.Count(want) > 0 }, log.String)
		})
	}
}

// lingeringGroup is a shared group with a linger time that a test does not outlast.
func lingeringGroup(t *testing.T, backend string) *conn.Group {
	t.Helper()
	cfg := conn.Config{Reactor: reactor.Config{Backend: backend}, LingerTimeout: forEver, Logger: (&conntest.Log{}).Logger()}
	g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Stop(context.Background())) })
	return g
}

// A client that is idle and ignores the server's end costs no Linger, though the group goes on.
func TestShutdownOnASharedGroupDoesNotWaitForIdleClients(t *testing.T) {
	loop := func(_ *sched.Context, s *server.Stream) error {
		_, err := io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{s})
		return err
	}
	closeAtOnce := closer{data: make(chan struct{}, 1)}
	for name, c := range map[string]struct {
		handler       server.Handler
		ask, answered string
	}{
		"callbacks":           {echo{}, "x", "x"},
		"HTTP":                {nil, hello, "HTTP/1.1 200"},
		"sequential":          {server.Sequential(loop), "x", "x"},
		"sequential, nothing": {server.Sequential(loop), "", ""},
		"closed before":       {closeAtOnce, "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				g := lingeringGroup(t, backend)
				h := c.handler
				if h == nil {
					h = server.HTTP(site())
				}
				s := runOn(t, g, &server.Server{Handler: h})
				client := s.dial()
				_, err := io.WriteString(client, c.ask)
				require.NoError(t, err)
				p := make([]byte, len(c.answered))
				_, err = io.ReadFull(client, p)
				require.NoError(t, err)
				require.Equal(t, c.answered, string(p))
				if h == closeAtOnce {
					conntest.Receive(t, closeAtOnce.data)
				}
				conntest.Eventually(t, func() bool { return g.Len() == 1 })
				shutDown(t, s) // the client does nothing
				_, err = io.ReadAll(client)
				require.NoError(t, err, "the end is in order")
			})
		})
	}
}

// closer closes a connection at its first bytes.
type closer struct {
	server.Base
	data chan struct{}
}

func (h closer) OnData(c *server.Conn) error {
	_, _ = c.Discard(-1)
	h.data <- struct{}{}
	return c.Close()
}

// drains tells of OnDrain.
type drains struct {
	echo
	drained chan bool
}

func (h drains) OnDrain(c *server.Conn) {
	h.drained <- true
	_ = c.Close()
}

// A handshake that is under way when Shutdown begins ends first. The handler within TLS, and
// behind a PROXY header, is told by OnDrain then.
func TestShutdownOnASharedGroupTellsAHandlerAfterItsHandshake(t *testing.T) {
	of, client := httpsConfig(t)
	for _, proxied := range []bool{false, true} {
		t.Run(fmt.Sprintf("PROXY %v", proxied), func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				g := lingeringGroup(t, backend)
				try := func() (drained bool, took time.Duration) {
					h := drains{drained: make(chan bool, 1)}
					srv := &server.Server{Handler: h, TLS: of}
					if proxied {
						srv.Proxy = &server.ProxyProtocol{Trust: loopback}
					}
					s := runOn(t, g, srv)
					halt := &halting{Conn: s.dial(), half: make(chan struct{}), goOn: make(chan struct{})}
					ended := make(chan error, 1)
					go func() {
						if proxied {
							if _, err := io.WriteString(halt, "PROXY TCP4 1.2.3.4 5.6.7.8 9 10\r\n"); err != nil {
								ended <- err
								return
							}
						}
						c := tls.Client(halt, client)
						_, err := c.Read(make([]byte, 1))
						ended <- err
						_ = c.Close()
					}()
					conntest.Receive(t, halt.half)
					conntest.Eventually(t, func() bool { return g.Len() == 1 })
					began, stopped := time.Now(), make(chan struct{})
					go func() { defer close(stopped); shutDown(t, s) }()
					require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
					close(halt.goOn)
					err := conntest.Receive(t, ended)
					took = time.Since(began)
					conntest.Receive(t, stopped)
					select {
					case drained = <-h.drained:
						require.Equal(t, io.EOF, err)
					default:
					}
					return drained, took
				}
				drained, took := try()
				for end := time.Now().Add(conntest.Patience); !drained && took > conn.DrainHandshake/8 && time.Now().Before(end); {
					drained, took = try() // the machine is busy, and the server did not wait for that long
				}
				require.True(t, drained, "the handler was not told")
			})
		})
	}
}
