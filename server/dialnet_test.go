package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// dialedWeb is a server of net/http, and a client of it that connects by d.
func dialedWeb(t *testing.T, d *client, h http.HandlerFunc) (*httptest.Server, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	d.names.hosts["web.test"] = []string{"::1", "127.0.0.1"} // nobody listens on the first
	s.URL = strings.Replace(s.URL, "127.0.0.1", "web.test", 1)
	tr := &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 10}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	return s, &http.Client{Transport: tr}
}

func TestHTTPTransportDialsAndKeepsConnections(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		d := newClient(t, backend, workers, false)
		s, client := dialedWeb(t, d, func(w http.ResponseWriter, r *http.Request) {
			p, _ := io.ReadAll(r.Body)
			_, _ = w.Write(p)
			_, _ = io.WriteString(w, " for "+r.RemoteAddr)
		})
		body := strings.Repeat("0123456789abcdef", 20_000)
		last, dials := "", 0
		for reuses := 0; reuses < 4; { // net/http drops a connection that is idle before its goroutine says so
			reused := false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
			req, err := http.NewRequestWithContext(ctx, "POST", s.URL, strings.NewReader(body))
			require.NoError(t, err)
			resp, err := client.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			answer, from, _ := strings.Cut(string(got), " for ")
			require.Equal(t, body, answer)
			if reused {
				reuses++
				require.Equal(t, last, from)
			} else {
				dials++
			}
			last = from
		}
		require.Equal(t, dials, d.names.questions())
	})
}

func TestHTTPRequestsAreCanceled(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		d := newClient(t, backend, 2, false)
		arrived, gone := make(chan struct{}, 1), make(chan struct{}, 1)
		s, client := dialedWeb(t, d, func(_ http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-r.Context().Done()
			gone <- struct{}{}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
			_, err := client.Do(req)
			ended <- err
		}()
		conntest.Receive(t, arrived)
		cancel()
		require.ErrorIs(t, conntest.Receive(t, ended), context.Canceled)
		conntest.Receive(t, gone) // its connection was closed
		conntest.Eventually(t, func() bool { return d.group.Len() == 0 })

		_, four := both(t)
		four.Swallow(t)
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+at("127.0.0.1", four.Port()), nil)
		require.NoError(t, err)
		_, err = client.Do(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		client.CloseIdleConnections()
	})
}

func TestDialContextGivesAConnectionForGoroutines(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		d := newClient(t, backend, 2, false)
		d.names.hosts["echo.test"] = []string{"127.0.0.1"}
		c, err := d.DialContext(t.Context(), "tcp", at("echo.test", l.port()))
		require.NoError(t, err)
		require.Equal(t, l.Addr().String(), c.RemoteAddr().String())
		roundTrip(t, c, "hello")
		require.NoError(t, c.Close())
		for _, network := range []string{"tcp", "udp"} {
			c, err = d.DialContext(t.Context(), network, "nobody.test:80")
			require.Nil(t, c)
			requireDNS(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, err = d.DialContext(ctx, "tcp", l.Addr().String())
		require.Nil(t, c)
		require.ErrorIs(t, err, context.Canceled)
	})
}

type packets struct {
	server.PacketBase
	got chan string
}

func (p packets) OnPackets(_ *server.PacketConn, batch []server.Packet) error {
	for _, b := range batch {
		p.got <- string(b.Data)
	}
	return nil
}

func TestConnectedPacketSocketsAreDialedByName(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		defer pc.Close()
		go func() { // echo
			p := make([]byte, 100)
			for {
				n, from, err := pc.ReadFrom(p)
				if err != nil {
					return
				}
				_, _ = pc.WriteTo(p[:n], from)
			}
		}()
		d := newClient(t, backend, 2, false)
		d.names.hosts["echo.test"] = []string{"127.0.0.1"}
		d.LocalAddr = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 6)}
		addr := at("echo.test", pc.LocalAddr().(*net.UDPAddr).Port)

		c, err := d.DialContext(t.Context(), "udp", addr)
		require.NoError(t, err)
		if !conntest.Wine() {
			require.Equal(t, "127.0.0.6", c.LocalAddr().(*net.UDPAddr).IP.String())
		}
		roundTrip(t, c, "hello")
		require.NoError(t, c.Close())

		p := packets{got: make(chan string, 10)}
		for name, dial := range map[string]func() (server.PacketHandle, error){
			"goroutine": func() (server.PacketHandle, error) {
				return d.DialPacket(t.Context(), "udp4", addr, p)
			},
			"task": func() (server.PacketHandle, error) {
				return sched.Go(d.group.Runtime(), func(cx *sched.Context) (server.PacketHandle, error) {
					return d.DialPacket(cx, "udp", addr, p)
				}).Wait(t.Context())
			},
			"future": func() (server.PacketHandle, error) {
				return sched.Block(t.Context(), d.group.Runtime(), d.DialPacketFuture("udp", addr, p))
			},
		} {
			h, err := dial()
			require.NoError(t, err, name)
			require.NoError(t, h.Send([]byte("hello"), netip.AddrPort{}), name)
			require.Equal(t, "hello", conntest.Receive(t, p.got), name)
			require.NoError(t, h.Close(), name)
		}
		r := &names{hosts: d.names.hosts, block: make(chan struct{}), began: make(chan struct{}, 10)}
		d.Resolver, d.Timeout = r, 20*time.Millisecond
		_, err = d.DialPacket(t.Context(), "udp", addr, p)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = sched.Go(d.group.Runtime(), func(cx *sched.Context) (server.PacketHandle, error) {
			return d.DialPacket(cx, "udp", addr, p)
		}).Wait(t.Context())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		conntest.Eventually(t, r.over)
		// Abandoned, a future ends the resolving.
		for len(r.began) > 0 {
			<-r.began
		}
		d.Timeout = 0
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() {
			_, err := sched.Block(ctx, d.group.Runtime(), d.DialPacketFuture("udp", addr, p))
			over <- err
		}()
		conntest.Receive(t, r.began)
		cancel()
		require.ErrorIs(t, conntest.Receive(t, over), context.Canceled)
		conntest.Eventually(t, r.over)
		_, err = d.DialContext(t.Context(), "unixgram", addr)
		var unknown net.UnknownNetworkError
		require.True(t, errors.As(err, &unknown))
	})
}

// A Dialer of a server dials on its workers, from its handlers and from elsewhere.
func TestAServersDialerIsUsedByItsHandlers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		s := &server.Server{Backend: backend, Workers: 4}
		d := server.Dialer{Group: s.Group}
		_, err := d.Start("tcp", l.Addr().String(), newTold())
		require.Error(t, err, "the server does not serve")
		s.Handler = proxy{dialer: d, to: l.Addr().String()}
		r := run(t, s)
		for range 20 {
			c := r.dial()
			roundTrip(t, c, "hello")
		}
		h := newTold()
		_, err = d.Start("tcp", l.Addr().String(), h)
		require.NoError(t, err)
		require.Same(t, s.Group(), conntest.Receive(t, h.opened).Group())
	})
}

// proxy forwards the bytes of both directions.
type proxy struct {
	server.Base
	dialer server.Dialer
	to     string
}

func (p proxy) OnOpen(c *server.Conn) error {
	d := p.dialer
	d.Near = c
	h, err := d.Start("tcp", p.to, backend{client: c.Handle()})
	c.SetValue(h)
	return err
}

func (proxy) OnData(c *server.Conn) error {
	h, _ := conn.ValueOf[server.Handle](c)
	b, _ := c.Next(-1)
	return h.Send(b)
}

func (proxy) OnClose(c *server.Conn, _ error) {
	if h, ok := conn.ValueOf[server.Handle](c); ok {
		_ = h.Close()
	}
}

type backend struct {
	server.Base
	client server.Handle
}

func (b backend) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	return b.client.Send(p)
}

// As all that is dialed, the socket works while accepted connections end.
func TestADialedPacketSocketOutlastsWhatIsServed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		defer pc.Close()
		d := newClient(t, backend, 2, false)
		p := packets{got: make(chan string, 10)}
		h, err := d.DialPacket(t.Context(), "udp", pc.LocalAddr().String(), p)
		require.NoError(t, err)
		require.NoError(t, d.group.ShutdownServed(t.Context()))
		require.Equal(t, 1, d.group.Len())
		_, err = pc.WriteTo([]byte("hello"), net.UDPAddrFromAddrPort(h.LocalAddr()))
		require.NoError(t, err)
		require.Equal(t, "hello", conntest.Receive(t, p.got))
		require.NoError(t, d.group.Shutdown(t.Context()))
		require.Zero(t, d.group.Len())
	})
}
