package server_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// A halting connection stops in the midst of what it writes first, until it may go on.
type halting struct {
	net.Conn
	half, goOn chan struct{}
	begun      bool
}

func (c *halting) Write(p []byte) (int, error) {
	if c.begun {
		return c.Conn.Write(p)
	}
	c.begun = true
	if _, err := c.Conn.Write(p[:len(p)/2]); err != nil {
		return 0, err
	}
	close(c.half)
	<-c.goOn
	n, err := c.Conn.Write(p[len(p)/2:])
	return len(p)/2 + n, err
}

// A connection whose PROXY header or ClientHello has come in part when the server begins to
// stop is waited for, and its first request is answered.
func TestShutdownWaitsForHeadersAndHellosThatAreUnderWay(t *testing.T) {
	of, client := httpsConfig(t)
	for _, c := range []struct{ proxied, secure bool }{{true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("PROXY %v, TLS %v", c.proxied, c.secure), func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				try := func() (answer string, took time.Duration) {
					srv := &server.Server{Handler: server.WithLinger(server.HTTP(site()), httpLinger), Backend: backend}
					if c.proxied {
						srv.Proxy = &server.ProxyProtocol{Trust: loopback}
					}
					if c.secure {
						srv.TLS = of
					}
					srv.ConnConfig.LingerTimeout = forEver
					s := run(t, srv)
					open := func(nc net.Conn) (*httpWire, error) {
						side := &httpSide{T: t, ours: true}
						if c.proxied {
							if _, err := nc.Write([]byte("PROXY TCP4 1.2.3.4 5.6.7.8 9 10\r\n")); err != nil {
								return nil, err
							}
						}
						if c.secure {
							tc := tls.Client(nc, client)
							if err := tc.Handshake(); err != nil {
								return nil, err
							}
							nc = tc
						}
						return newWire(nc, side), nil
					}
					halt := &halting{Conn: s.dial(), half: make(chan struct{}), goOn: make(chan struct{})}
					answered := make(chan string, 1)
					go func() {
						w, err := open(halt)
						if err == nil {
							_, err = w.Write([]byte(hello))
						}
						if err != nil {
							answered <- err.Error()
							return
						}
						answered <- w.answer("GET")
					}()
					conntest.Receive(t, halt.half)
					idle, err := open(s.dial())
					require.NoError(t, err)
					idle.send(hello)
					require.Contains(t, idle.answer("GET"), "hello")
					conntest.Eventually(t, func() bool { return s.Group().Len() == 2 })
					begun := time.Now()
					stopped := make(chan struct{})
					go func() { defer close(stopped); shutDown(t, s) }()
					require.Equal(t, `"", end: <nil>`, idle.end()) // the other one has been told, too
					close(halt.goOn)
					answer, took = conntest.Receive(t, answered), time.Since(begun)
					_ = halt.Close()
					conntest.Receive(t, stopped)
					return answer, took
				}
				answer, took := try()
				for end := time.Now().Add(conntest.Patience); took > conn.DrainHandshake/2 && time.Now().Before(end); {
					answer, took = try() // the machine is busy, and the server did not wait for that long
				}
				require.Contains(t, answer, "hello")
				require.Contains(t, answer, "close=true")
			})
		})
	}
}

// An HTTP/2 connection whose handshake ends after the server has begun to stop is served.
func TestHTTP2IsServedAfterAHandshakeDuringTheDrain(t *testing.T) {
	of, client := httpsConfig(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		try := func() (proto string, took time.Duration, err error) {
			srv := &server.Server{Handler: server.WithLinger(server.HTTP(site()), httpLinger), Backend: backend, TLS: of}
			srv.ConnConfig.LingerTimeout = forEver
			s := run(t, srv)
			halt := &halting{Conn: s.dial(), half: make(chan struct{}), goOn: make(chan struct{})}
			tr := &http.Transport{TLSClientConfig: client.Clone(), ForceAttemptHTTP2: true}
			tr.DialContext = func(context.Context, string, string) (net.Conn, error) { return halt, nil }
			type result struct {
				proto string
				err   error
			}
			got := make(chan result, 1)
			go func() {
				r, err := (&http.Client{Transport: tr}).Get("https://" + s.addr.String() + "/hello")
				if err != nil {
					got <- result{err: err}
					return
				}
				got <- result{proto: r.Proto, err: r.Body.Close()}
			}()
			conntest.Receive(t, halt.half)
			idle := (&httpSide{T: t, ours: true, tls: client, addr: s.addr.String()}).dial()
			idle.send(hello)
			require.Contains(t, idle.answer("GET"), "hello")
			begun := time.Now()
			stopped := make(chan struct{})
			go func() { defer close(stopped); shutDown(t, s) }()
			require.Equal(t, `"", end: <nil>`, idle.end())
			close(halt.goOn)
			r := conntest.Receive(t, got)
			took = time.Since(begun)
			conntest.Receive(t, stopped) // the connection ends by itself
			tr.CloseIdleConnections()
			return r.proto, took, r.err
		}
		proto, took, err := try()
		for end := time.Now().Add(conntest.Patience); took > conn.DrainHandshake/2 && time.Now().Before(end); {
			proto, took, err = try()
		}
		require.NoError(t, err)
		require.Equal(t, "HTTP/2.0", proto)
	})
}
