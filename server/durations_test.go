package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

const endless = time.Duration(math.MaxInt64)

// durations calls f with each duration that can be set in a configuration.
func durations(v reflect.Value, path string, f func(path string, d reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		f(path, v)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				durations(v.Field(i), path+"."+field.Name, f)
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			durations(v.Index(i), path, f)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && strings.Contains(v.Type().Elem().PkgPath(), "suiro"):
		durations(v.Elem(), path, f)
	}
}

const all = ".all"

// endlessly runs a scenario with each duration of a configuration the longest there is: alone,
// and with all others that have no upper bound.
func endlessly[C any](t *testing.T, fresh func(t *testing.T) *C, scenario func(t *testing.T, backend, field string, cfg *C)) {
	var fields []string
	durations(reflect.ValueOf(fresh(t)).Elem(), "", func(path string, _ reflect.Value) { fields = append(fields, path) })
	require.NotEmpty(t, fields)
	fields = append(fields, all)
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, field := range fields {
			t.Run(field[1:], func(t *testing.T) {
				cfg := fresh(t)
				durations(reflect.ValueOf(cfg).Elem(), "", func(path string, d reflect.Value) {
					if path == field || field == all && !strings.HasSuffix(path, ".Coalesce") {
						d.SetInt(int64(endless))
					}
				})
				scenario(t, backend, field, cfg)
			})
		}
	})
}

// pass returns when each timer of the runtime has fired that was due at once.
func pass(t *testing.T, rt *sched.Runtime) {
	t.Helper()
	_, err := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		return sched.Await(cx, sched.Sleep(10*time.Millisecond))
	}).Wait(t.Context())
	require.NoError(t, err)
}

const flood = 2 << 20

// talker echoes, and answers "flood" with much, and "bye" with much and its end.
type talker struct{ server.Base }

func (talker) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	text := string(p)
	if text == "flood" || text == "bye" {
		p = make([]byte, flood)
	}
	_, err := c.Write(p)
	if text == "bye" {
		return errors.Join(err, c.Close())
	}
	return err
}

func TestEndlessDurationsOfAServerNeverPass(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	var ticks atomic.Int32
	fresh := func(t *testing.T) *server.Server {
		ticks.Store(0)
		return &server.Server{
			Handler: talker{}, Workers: 1, WriteBuffer: 64 << 10,
			TLS:     &tls.Config{Certificates: []tls.Certificate{cert}},
			Proxy:   &server.ProxyProtocol{Trust: loopback},
			Tickers: []server.Ticker{{Every: time.Hour, Do: func(*sched.Context) { ticks.Add(1) }}},
		}
	}
	endlessly(t, fresh, func(t *testing.T, backend, field string, s *server.Server) {
		s.Backend = backend
		if strings.HasSuffix(field, ".Coalesce") {
			require.ErrorContains(t, s.ListenAndServe(), "Coalesce", "which has an upper bound")
			return
		}
		r := run(t, s)
		rt := s.Group().Runtime()
		raw := r.dial()
		require.NoError(t, raw.(*net.TCPConn).SetReadBuffer(64<<10))
		pass(t, rt)
		_, err := raw.Write(headerOf(t, 2))
		require.NoError(t, err)
		pass(t, rt)
		c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
		roundTrip(t, c, "hello")
		pass(t, rt)
		roundTrip(t, c, "still here")
		for _, text := range []string{"flood", "bye"} {
			_, err := io.WriteString(c, text)
			require.NoError(t, err)
			pass(t, rt)
			n, err := io.CopyN(io.Discard, c, flood)
			require.NoError(t, err, "after %d bytes", n)
		}
		_, err = c.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		require.Zero(t, ticks.Load())
	})
}

func TestEndlessDurationsOfADialerNeverPass(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	fresh := func(t *testing.T) *server.Dialer {
		return &server.Dialer{TLS: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}, FallbackDelay: conntest.Patience}
	}
	endlessly(t, fresh, func(t *testing.T, backend, _ string, d *server.Dialer) {
		c := newClient(t, backend, 1, false)
		c.names.hosts["two.test"] = []string{"127.0.0.1", "127.0.0.2"}
		d.Group, d.Resolver, d.Threads = c.Group, c.names, c.Threads
		plain := listenEcho(t, "tcp", "127.0.0.1:0")
		_, port, _ := net.SplitHostPort(plain.Addr().String())
		other := listenEcho(t, "tcp", "127.0.0.2:"+port)
		secret := run(t, &server.Server{Handler: talker{}, Backend: backend, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
		packets := run(t, &server.Server{Packets: packetEcho{}, Network: "udp", Backend: backend})
		bare := *d
		bare.TLS = nil
		a, err := bare.DialContext(t.Context(), "tcp", "two.test:"+port)
		require.NoError(t, err)
		b, err := d.DialTLSContext(t.Context(), "tcp", secret.addr.String())
		require.NoError(t, err)
		u, err := bare.DialContext(t.Context(), "udp", packets.addr.String())
		require.NoError(t, err)
		h := newTold()
		handle, err := d.Start("tcp", secret.addr.String(), h)
		require.NoError(t, err)
		conntest.Receive(t, h.opened)
		pass(t, c.group.Runtime())
		for _, x := range []net.Conn{a, b, u} {
			require.NoError(t, x.SetDeadline(time.Now().Add(conntest.Patience)))
			roundTrip(t, x, "hello")
			require.NoError(t, x.Close())
		}
		use(t, handle, h, "hello")
		require.Zero(t, other.accepted(), "the first address is enough")
	})
}

func TestEndlessDurationsOfADialNeverPass(t *testing.T) {
	for name, delay := range map[string]time.Duration{"beside each other": conntest.Patience, "in turn": -1} {
		t.Run(name, func(t *testing.T) {
			fresh := func(*testing.T) *conn.DialConfig { return &conn.DialConfig{Delay: delay} }
			endlessly(t, fresh, func(t *testing.T, backend, _ string, cfg *conn.DialConfig) {
				c := newClient(t, backend, 1, false)
				first, second := listenEcho(t, "tcp", "127.0.0.1:0"), listenEcho(t, "tcp", "127.0.0.1:0")
				cfg.Addrs = []net.Addr{first.Addr(), second.Addr()}
				h := newTold()
				handle, err := c.group.DialWith(cfg, h)
				require.NoError(t, err)
				use(t, handle, h, "hello")
				pass(t, c.group.Runtime())
				use(t, handle, h, "still here")
				require.Zero(t, second.accepted(), "the first address is enough")
			})
		})
	}
}

func TestEndlessDurationsOfAPoolNeverPass(t *testing.T) {
	fresh := func(*testing.T) *server.Pool { return &server.Pool{} }
	endlessly(t, fresh, func(t *testing.T, backend, field string, pool *server.Pool) {
		if strings.HasPrefix(field, ".Dialer") {
			return // its own test has these, and newPooling replaces it
		}
		p := newPooling(t, backend, 1, false, pool)
		for range 2 {
			h := newTold()
			handle, _ := p.get(h)
			use(t, handle, h, "hello")
			p.put(handle)
			pass(t, p.group.Runtime())
		}
		require.Equal(t, server.PoolStats{Idle: 1, PoolCounts: server.PoolCounts{Dials: 1, Reused: 1}}, p.Stats())
		nobody := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		for range 3 {
			_, err := p.Get(t.Context(), "tcp", nobody.Addr().String(), newTold())
			require.Error(t, err)
		}
	})
}

func TestEndlessDurationsOfSessionsNeverPass(t *testing.T) {
	fresh := func(*testing.T) *packet.Sessions { return &packet.Sessions{} }
	endlessly(t, fresh, func(t *testing.T, backend, _ string, s *packet.Sessions) {
		h := &sessionTalker{}
		s.Handler = h
		r := run(t, &server.Server{Packets: s, Network: "udp", Backend: backend, Workers: 1})
		c := r.dial()
		roundTrip(t, c, "hello")
		pass(t, r.Group().Runtime())
		roundTrip(t, c, "still here")
		require.EqualValues(t, 1, h.opened.Load())
		require.Zero(t, h.closed.Load())
	})
}

type sessionTalker struct{ opened, closed atomic.Int32 }

func (h *sessionTalker) OnOpen(*packet.Session) error { h.opened.Add(1); return nil }

func (h *sessionTalker) OnPacket(s *packet.Session, p packet.Packet) error {
	_, err := s.Write(p.Data)
	return err
}

func (h *sessionTalker) OnClose(*packet.Session, error) { h.closed.Add(1) }

func TestEndlessDurationsOfAGroupNeverPass(t *testing.T) {
	type config struct {
		Conn  conn.Config
		Sched sched.Config
		TLS   conn.TLSConfig
		Pool  blocking.Config
	}
	cert, pool := conntest.Certificate(t)
	fresh := func(*testing.T) *config { return &config{Sched: sched.Config{Workers: 1}} }
	endlessly(t, fresh, func(t *testing.T, backend, field string, cfg *config) {
		cfg.Conn.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg.Conn, cfg.Sched)
		if strings.HasSuffix(field, ".Coalesce") {
			require.ErrorContains(t, err, "Coalesce", "which has an upper bound")
			return
		}
		require.NoError(t, err)
		defer g.Close()
		cfg.TLS.Config = &tls.Config{Certificates: []tls.Certificate{cert}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := g.Listen(ln, conn.ServeTLS(cfg.TLS, talker{}))
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		c := dialTLS(t, l.Addr(), pool)
		roundTrip(t, c, "hello")
		pass(t, g.Runtime())
		roundTrip(t, c, "still here")
		threads := blocking.New(cfg.Pool)
		for range 2 {
			v, err := blocking.Do(t.Context(), threads, func() (int, error) { return 7, nil })
			require.NoError(t, err)
			require.Equal(t, 7, v)
			pass(t, g.Runtime())
		}
		require.NoError(t, threads.Shutdown(t.Context()))
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())
		g.Abort()
		require.NoError(t, g.Wait(t.Context()))
	})
}

func TestEndlessDurationsOfAnHTTPServerNeverPass(t *testing.T) {
	fresh := func(*testing.T) *http.Server {
		return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })}
	}
	endlessly(t, fresh, func(t *testing.T, backend, _ string, h *http.Server) {
		r := run(t, &server.Server{Handler: server.HTTPServer(h), Backend: backend, Workers: 1})
		c := r.dial()
		in := bufio.NewReader(c)
		for range 3 {
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			a, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			p, err := io.ReadAll(a.Body)
			require.NoError(t, err)
			require.Equal(t, "here", string(p))
			pass(t, r.Group().Runtime())
		}
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		require.NoError(t, c.Close())
		require.NoError(t, r.Shutdown(ctx))
	})
}
