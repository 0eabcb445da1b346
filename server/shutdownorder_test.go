package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// The linger time of servers here: a shutdown that waits for it does not end within the test.
const forEver = time.Hour

// shutDown shuts down, within the test's patience.
func shutDown(t *testing.T, s *running) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatalf("%v\n%s", err, conntest.Dump())
	}
}

// A lateBackend answers a byte when it is allowed to.
type lateBackend struct {
	addr  string
	asked chan net.Conn
}

func newLateBackend(t *testing.T) *lateBackend {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &lateBackend{ln.Addr().String(), make(chan net.Conn, 10)}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go func() {
				p := make([]byte, 1)
				for {
					if _, err := io.ReadFull(c, p); err != nil {
						return // the end is ignored until the test's
					}
					b.asked <- c
				}
			}()
		}
	}()
	return b
}

// A gateway asks its upstream for each byte, and ends after the answer when it drains.
type gateway struct {
	server.Base
	ask      func(client server.Handle)
	draining chan bool
}

func (g *gateway) OnData(c *server.Conn) error {
	_, _ = c.Discard(-1)
	c.SetValue(true)
	g.ask(c.Handle())
	return nil
}

func (g *gateway) OnDrain(c *server.Conn) {
	if c.Value() == nil {
		_ = c.Close()
	}
	g.draining <- true
}

// An upstream is what a gateway dials: all but OnData is Base's.
type upstream struct {
	server.Base
	client server.Handle
	done   func(*server.Conn)
}

func (u *upstream) OnOpen(c *server.Conn) error {
	_, err := c.WriteString("?")
	return err
}

func (u *upstream) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	_ = u.client.Send(p)
	_ = u.client.Close()
	if u.done != nil {
		u.done(c)
	}
	return nil
}

// persistent is an upstream that is not for a shutdown to end while it is in use.
type persistent struct{ upstream }

func (*persistent) OnDrain(*server.Conn) {}

func TestShutdownLeavesUpstreamCallsInFlight(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		b := newLateBackend(t)
		for name, ask := range map[string]func(*server.Pool, server.Handle){
			"dialed": func(pool *server.Pool, client server.Handle) {
				_, _ = pool.Dialer.Start("tcp", b.addr, &upstream{client: client})
			},
			"pooled": func(pool *server.Pool, client server.Handle) {
				_, _ = pool.Start("tcp", b.addr, &upstream{client: client, done: pool.Put})
			},
			"pooled, OnDrain overridden": func(pool *server.Pool, client server.Handle) {
				_, _ = pool.Start("tcp", b.addr, &persistent{upstream{client: client, done: pool.Put}})
			},
		} {
			t.Run(name, func(t *testing.T) {
				srv := &server.Server{Backend: backend, Workers: workers}
				pool := &server.Pool{Dialer: server.Dialer{Group: srv.Group}}
				g := &gateway{ask: func(client server.Handle) { ask(pool, client) }, draining: make(chan bool, 1)}
				srv.Handler, srv.ConnConfig.LingerTimeout = g, forEver
				s := run(t, srv)
				c := s.dial()
				_, err := io.WriteString(c, "x")
				require.NoError(t, err)
				up := conntest.Receive(t, b.asked)
				stopped := make(chan struct{})
				go func() { defer close(stopped); shutDown(t, s) }()
				conntest.Receive(t, g.draining)
				require.EqualValues(t, 2, s.Group().Len(), "the upstream's connection is there")
				_, err = io.WriteString(up, "!")
				require.NoError(t, err)
				p, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Equal(t, "!", string(p))
				require.NoError(t, c.Close())
				conntest.Receive(t, stopped)
			})
		}
	})
}

// A net/http gateway whose Transport dials on the server's workers keeps idle connections,
// that only the shutdown ends.
func TestShutdownEndsAndOutlastsATransportsConnections(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		began, release := make(chan struct{}, 1), make(chan struct{})
		hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-release
			_, _ = io.WriteString(w, "from upstream")
		})}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() { _ = hs.Serve(ln) }()
		t.Cleanup(func() { _ = hs.Close() })
		srv := &server.Server{Backend: backend}
		d := server.Dialer{Group: srv.Group}
		client := &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, err := client.Get("http://" + ln.Addr().String())
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			defer answer.Body.Close()
			_, _ = io.Copy(w, answer.Body)
		})
		srv.Handler, srv.ConnConfig.LingerTimeout = server.HTTP(site), forEver
		s := run(t, srv)
		got := make(chan string, 1)
		go func() {
			answer, err := http.Get("http://" + s.addr.String())
			if err != nil {
				got <- err.Error()
				return
			}
			defer answer.Body.Close()
			p, _ := io.ReadAll(answer.Body)
			got <- string(p)
		}()
		conntest.Receive(t, began)
		stopped := make(chan struct{})
		go func() { defer close(stopped); shutDown(t, s) }()
		conntest.Eventually(t, func() bool {
			c, err := net.Dial("tcp", s.addr.String())
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		close(release)
		require.Equal(t, "from upstream", conntest.Receive(t, got))
		conntest.Receive(t, stopped)
	})
}

// Nobody waits for the end of a client that is idle and ignores the server's.
func TestShutdownDoesNotWaitForIdleClients(t *testing.T) {
	loop := func(_ *sched.Context, s *server.Stream) error {
		_, err := io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{s})
		return err
	}
	for name, c := range map[string]struct {
		handler       func() server.Handler
		ask, answered string
	}{
		"callbacks":           {func() server.Handler { return echo{} }, "x", "x"},
		"HTTP":                {func() server.Handler { return server.HTTP(site()) }, hello, "HTTP/1.1 200"},
		"HTTP, no request":    {func() server.Handler { return server.HTTP(site()) }, "", ""},
		"sequential":          {func() server.Handler { return server.Sequential(loop) }, "x", "x"},
		"sequential, nothing": {func() server.Handler { return server.Sequential(loop) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				srv := &server.Server{Handler: c.handler(), Backend: backend, Workers: workers}
				srv.ConnConfig.LingerTimeout = forEver
				s := run(t, srv)
				client := s.dial()
				_, err := io.WriteString(client, c.ask)
				require.NoError(t, err)
				p := make([]byte, len(c.answered))
				_, err = io.ReadFull(client, p)
				require.NoError(t, err)
				require.Equal(t, c.answered, string(p))
				conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
				shutDown(t, s) // the client does nothing
				_, err = io.ReadAll(client)
				require.NoError(t, err, "the end is in order")
			})
		})
	}
}

// A request that has begun is answered, by a plain loop as well.
func TestShutdownWaitsForTheRequestOfASequentialHandler(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var halves atomic.Int32
		h := server.Sequential(func(_ *sched.Context, s *server.Stream) error {
			p := make([]byte, 2)
			for {
				if _, err := io.ReadFull(s, p[:1]); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
				halves.Add(1)
				if _, err := io.ReadFull(s, p[1:]); err != nil {
					return err
				}
				if _, err := s.Write(p); err != nil {
					return err
				}
			}
		})
		srv := &server.Server{Handler: h, Backend: backend, Workers: workers}
		srv.ConnConfig.LingerTimeout = forEver
		s := run(t, srv)
		c := s.dial()
		roundTrip(t, c, "ab")
		_, err := io.WriteString(c, "c")
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return halves.Load() == 2 })
		stopped := make(chan struct{})
		go func() { defer close(stopped); shutDown(t, s) }()
		conntest.Eventually(t, func() bool {
			c, err := net.Dial("tcp", s.addr.String())
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		roundTripRest(t, c, "d", "cd")
		conntest.Receive(t, stopped)
	})
}

func roundTripRest(t *testing.T, c net.Conn, text, want string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	p, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, want, string(p))
}
