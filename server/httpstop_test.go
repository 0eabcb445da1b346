package server_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// A lateDrain waits in OnDrain until a client has sent bytes that no worker has seen.
type lateDrain struct {
	server.Handler
	begun, said chan bool
}

func (h *lateDrain) Unwrap() server.Handler { return h.Handler }

func (h *lateDrain) OnDrain(c *server.Conn) {
	h.begun <- true
	<-h.said
	h.Handler.OnDrain(c)
}

// A request that is under way when the server begins to stop is answered: the first of a
// connection, and a later one. So a server that hands over loses none.
func TestShutdownServesARequestThatIsUnderWay(t *testing.T) {
	of, clientConfig := httpsConfig(t)
	for name, before := range map[string]int{"first": 0, "second": 1} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				for _, secure := range []bool{false, true} {
					h := &lateDrain{server.WithLinger(server.HTTP(site()), httpLinger), make(chan bool, 1), make(chan bool, 1)}
					srv := &server.Server{Handler: h, Backend: backend, Workers: workers}
					side := &httpSide{T: t, ours: true}
					if secure {
						srv.TLS, side.tls = of, clientConfig
					}
					srv.ConnConfig.LingerTimeout = forEver
					s := run(t, srv)
					side.addr, side.s = s.addr.String(), s.Server
					w := side.dial()
					for range before {
						w.send(hello)
						require.Contains(t, w.answer("GET"), "hello")
					}
					conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
					side.idle()
					stopped := make(chan struct{})
					go func() { defer close(stopped); shutDown(t, s) }()
					conntest.Receive(t, h.begun)
					w.send(hello)
					h.said <- true
					answer := w.answer("GET")
					require.Contains(t, answer, "hello")
					require.Contains(t, answer, "close=true")
					require.Equal(t, `"", end: <nil>`, w.end())
					conntest.Receive(t, stopped)
				}
			})
		})
	}
}

// The functions of RegisterOnShutdown have been started when Shutdown returns, also without a
// connection, and are when it begins, whatever connections are doing.
func TestShutdownStartsItsFunctionsAtOnce(t *testing.T) {
	for name, begin := range map[string]string{
		"no connection": "none", "no request": "", "idle": hello, "busy": "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var hs *http.Server
			var told chan bool
			var entered, release chan bool
			configure := func() *http.Server {
				at, in, out := make(chan bool), make(chan bool, 1), make(chan bool)
				told, entered, release = at, in, out
				hs = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/wait" {
						in <- true
						<-out
					}
					site().ServeHTTP(w, r)
				})}
				hs.RegisterOnShutdown(func() { <-at })
				hs.RegisterOnShutdown(func() { at <- true; at <- true })
				return hs
			}
			onHTTP(t, configure, func(h *httpSide) {
				if begin != "none" {
					w := h.dial()
					w.send(begin)
					switch begin {
					case hello:
						require.Contains(h.T, w.answer("GET"), "hello")
					case "":
					default:
						conntest.Receive(h.T, entered)
					}
				}
				stopped := make(chan error, 1)
				go func() { stopped <- h.stop() }()
				conntest.Receive(h.T, told) // although Shutdown waits for requests in progress
				close(release)
				if begin != "" || h.ours { // net/http waits 5 s for a first request
					require.NoError(h.T, conntest.Receive(h.T, stopped))
				}
			})
		})
	}
}

// A request that begins while the server waits for another one is served as net/http does
// one that has begun before: with the same settings, and as the last one of its connection.
func TestARequestThatBeginsDuringTheDrainIsServed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		type key struct{}
		seen := make(chan *http.Request, 2)
		hs := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen <- r
				_, _ = io.WriteString(w, "hello")
			}),
			ConnContext:    func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) },
			MaxHeaderBytes: 1 << 10,
		}
		h := server.WithGrace(server.WithLinger(server.HTTPServer(hs), httpLinger), conntest.Patience/4)
		s := run(t, &server.Server{Handler: h, Backend: backend})
		side := &httpSide{T: t, ours: true, addr: s.addr.String(), s: s.Server}
		early, late, large := side.dial(), side.dial(), side.dial()
		early.send(hello)
		require.Contains(t, early.answer("GET"), "close=false")
		_ = conntest.Receive(t, seen)
		conntest.Eventually(t, func() bool { return s.Group().Len() == 3 })
		told := make(chan bool)
		hs.RegisterOnShutdown(func() { close(told) })
		stopped := make(chan struct{})
		go func() { defer close(stopped); shutDown(t, s) }()
		conntest.Receive(t, told)
		late.send(hello)
		require.Contains(t, late.answer("GET"), "close=true")
		require.Equal(t, `"", end: <nil>`, late.end())
		r := conntest.Receive(t, seen)
		require.Same(t, hs, r.Context().Value(http.ServerContextKey))
		require.NotNil(t, r.Context().Value(key{}))
		large.send("GET /hello HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 8<<10) + "\r\n\r\n")
		require.Contains(t, large.answer("GET"), "431 ")
		require.Equal(t, `"", end: <nil>`, early.end(), "it was idle")
		conntest.Receive(t, stopped)
	})
}

// The twin has each field of an http.Server that can be set.
func TestATwinHasAllThatIsSet(t *testing.T) {
	hs := &http.Server{Addr: "x", ReadTimeout: 1, Handler: site(), ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true}
	twin := server.Twin(hs)
	require.Equal(t, hs.Addr, twin.Addr)
	require.Equal(t, hs.ReadTimeout, twin.ReadTimeout)
	require.Same(t, hs.ErrorLog, twin.ErrorLog)
	require.True(t, twin.DisableGeneralOptionsHandler)
	require.NotNil(t, twin.Handler)
}
