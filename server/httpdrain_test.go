package server_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// net/http takes a connection for idle until a header is whole, and then closes it. A request whose
// header has begun when the server begins to stop, or when keep-alives are disabled, is served all
// the same, and a malformed one gets its answer.
func TestARequestThatHasBegunAtAShutdown(t *testing.T) {
	of, clientConfig := httpsConfig(t)
	for name, c := range map[string]struct {
		rest, status string
		shutdown     bool
	}{
		"whole":                  {"\r\n\r\n", "200 ", true},
		"malformed":              {"\r\n bad\x00header\r\n\r\n", "400 ", true},
		"whole, no shutdown":     {"\r\n\r\n", "200 ", false},
		"malformed, no shutdown": {"\r\n bad\x00header\r\n\r\n", "400 ", false},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				for _, secure := range []bool{false, true} {
					hs := &http.Server{Handler: site(), ErrorLog: log.New(io.Discard, "", 0)}
					h := server.WithLinger(server.WithGrace(server.HTTPServer(hs), conntest.Patience), conntest.Patience)
					srv := &server.Server{Handler: h, Backend: backend}
					side := &httpSide{T: t, ours: true}
					if secure {
						srv.TLS, side.tls = of, clientConfig
					}
					s := run(t, srv)
					side.addr, side.s = s.addr.String(), s.Server
					w := side.dial()
					w.send(hello)
					require.Contains(t, w.answer("GET"), "close=false")
					conntest.Eventually(t, func() bool { return server.Lingering(h) == 1 })
					w.send("GET /hello HTTP/1.1\r\nHost: x")
					conntest.Eventually(t, func() bool { return server.Lingering(h) == 0 })
					stopped := make(chan struct{})
					stop := func() { defer close(stopped); shutDown(t, s) }
					hs.SetKeepAlivesEnabled(false)
					if c.shutdown {
						go stop()
						conntest.Eventually(t, s.Stopping)
					}
					w.send(c.rest)
					require.Contains(t, w.answer("GET"), c.status)
					require.Equal(t, `"", end: <nil>`, w.end())
					if !c.shutdown {
						go stop()
					}
					conntest.Receive(t, stopped)
				}
			})
		})
	}
}

// A header that never becomes whole does not keep a server from its end.
func TestAHeaderThatNeverEndsAtAShutdown(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := server.WithLinger(server.HTTP(site()), conntest.Patience)
		s := run(t, &server.Server{Handler: h, Backend: backend})
		side := &httpSide{T: t, ours: true, addr: s.addr.String(), s: s.Server}
		w := side.dial()
		w.send(hello)
		require.Contains(t, w.answer("GET"), "close=false")
		conntest.Eventually(t, func() bool { return server.Lingering(h) == 1 })
		w.send("GET /hello HTTP/1.1\r\nHost: x")
		conntest.Eventually(t, func() bool { return server.Lingering(h) == 0 })
		shutDown(t, s)
		require.Equal(t, `"", end: <nil>`, w.end())
	})
}

// A handler gets no request that cannot be answered any more: a client that gets no answer may
// repeat its request.
func TestWhatAHandlerGotAtAShutdownIsAnswered(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var mu sync.Mutex
		handled := map[string]bool{}
		s := run(t, &server.Server{Backend: backend, Handler: server.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			handled[r.URL.Path] = true
			mu.Unlock()
			_, _ = io.WriteString(w, "done")
		}))})
		var clients sync.WaitGroup
		var answered atomic.Int64
		unanswered := make(chan string, 64)
		for i := range cap(unanswered) {
			clients.Go(func() {
				c, err := net.Dial("tcp", s.addr.String())
				if err != nil {
					return
				}
				defer c.Close()
				side := &httpClient{T: t, Conn: c}
				for n := 0; ; n++ {
					path := fmt.Sprintf("/%d/%d", i, n)
					if !side.ask(path) {
						unanswered <- path
						return
					}
					answered.Add(1)
					time.Sleep(time.Millisecond) // the connection is idle
				}
			})
		}
		conntest.Eventually(t, func() bool { return answered.Load() > int64(4*cap(unanswered)) })
		shutDown(t, s)
		clients.Wait()
		close(unanswered)
		for path := range unanswered {
			require.False(t, handled[path], path)
		}
	})
}

// An httpClient asks one question after the other.
type httpClient struct {
	*testing.T
	net.Conn
}

// ask reports whether there was a whole answer.
func (c *httpClient) ask(path string) bool {
	if err := c.SetDeadline(time.Now().Add(conntest.Patience)); err != nil {
		return false
	}
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	r, err := http.ReadResponse(bufio.NewReader(c.Conn), nil)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return err == nil && string(body) == "done"
}
