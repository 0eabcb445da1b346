package server_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// httpLinger is how long a connection stays with its goroutine after a request: here for
// less long than elsewhere, for tests that wait for it.
const httpLinger = time.Millisecond

// An httpSide serves an http.Server: over package net's connections, as the reference, or as a
// Handler.
type httpSide struct {
	*testing.T
	ours bool
	addr string
	s    *server.Server // nil: it is package net's
	tls  *tls.Config    // of its clients; nil: it is without
	stop func() error   // in order, waiting for requests in progress
}

// onHTTP runs a test on both sides, ours on each backend. configure makes the server, for one.
func onHTTP(t *testing.T, configure func() *http.Server, test func(h *httpSide)) {
	onSides(t, nil, nil, configure, test)
}

// onHTTPS is onHTTP with TLS.
func onHTTPS(t *testing.T, configure func() *http.Server, test func(h *httpSide)) {
	of, client := httpsConfig(t)
	onSides(t, of, client, configure, test)
}

// withAndWithoutTLS is onHTTP and onHTTPS.
func withAndWithoutTLS(t *testing.T, configure func() *http.Server, test func(h *httpSide)) {
	t.Run("plain", func(t *testing.T) { onHTTP(t, configure, test) })
	t.Run("TLS", func(t *testing.T) { onHTTPS(t, configure, test) })
}

func httpsConfig(t *testing.T) (of, client *tls.Config) {
	t.Helper()
	cert, pool := conntest.Certificate(t)
	return &tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

func onSides(t *testing.T, of, client *tls.Config, configure func() *http.Server, test func(h *httpSide)) {
	prepare := func() *http.Server {
		hs := configure()
		if hs.ErrorLog == nil {
			hs.ErrorLog = log.New(io.Discard, "", 0)
		}
		return hs
	}
	t.Run("net", func(t *testing.T) {
		conntest.Guard(t)
		hs := prepare()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() {
			if of == nil {
				served <- hs.Serve(ln)
				return
			}
			hs.TLSConfig = of
			served <- hs.ServeTLS(ln, "", "")
		}()
		t.Cleanup(func() {
			_ = hs.Close()
			require.ErrorIs(t, conntest.Receive(t, served), http.ErrServerClosed)
		})
		test(&httpSide{T: t, addr: ln.Addr().String(), tls: client, stop: func() error { return hs.Shutdown(t.Context()) }})
	})
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := serveHTTP(t, backend, of, prepare())
		h.tls = client
		test(h)
	})
}

// serveHTTP serves on a backend.
func serveHTTP(t *testing.T, backend string, of *tls.Config, hs *http.Server) *httpSide {
	s := run(t, &server.Server{Handler: server.WithLinger(server.HTTPServer(hs), httpLinger), Backend: backend, TLS: of})
	return &httpSide{T: t, ours: true, addr: s.addr.String(), s: s.Server, stop: func() error { return s.Shutdown(t.Context()) }}
}

// active is how many connections have a goroutine. A sentry's is no connection's.
func active() int {
	all := stacks()
	return strings.Count(all, "net/http.(*conn).serve(") - strings.Count(all, inSentry)
}

// inSentry is in the stack of a goroutine of net/http's that has begun to wait for a sentry.
const inSentry = "server.(*httpSentry).Read("

// stacks is those of all goroutines.
func stacks() string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return string(buf[:n])
		}
		buf = make([]byte, 2*len(buf))
	}
}

// idle waits until no connection has a goroutine, where that is to be.
func (h *httpSide) idle() {
	h.Helper()
	if h.ours {
		conntest.Eventually(h.T, func() bool { return active() == 0 }, "a connection stays with its goroutine")
	}
}

// An httpWire is a client that knows nothing of HTTP but where an answer ends.
type httpWire struct {
	net.Conn
	h  *httpSide
	br *bufio.Reader
}

func (h *httpSide) dial() *httpWire {
	h.Helper()
	w, err := h.tryDial()
	require.NoError(h.T, err)
	return w
}

// tryDial is dial, with the error of a handshake that the server has given up.
func (h *httpSide) tryDial() (*httpWire, error) {
	h.Helper()
	c, err := net.DialTimeout("tcp", h.addr, conntest.Patience)
	require.NoError(h.T, err)
	require.NoError(h.T, c.SetDeadline(time.Now().Add(conntest.Patience)))
	h.Cleanup(func() { _ = c.Close() })
	if h.tls != nil {
		t := tls.Client(c, h.tls)
		if err := t.HandshakeContext(h.Context()); err != nil {
			return nil, err
		}
		c = t
	}
	return &httpWire{c, h, bufio.NewReader(c)}, nil
}

// punctual returns how the connection ends for a client that keeps its times. The client sends
// first, waits for the answer if that is a whole request, and sends then. The server limits each
// silence.
// If the client itself was late because the machine is busy, another client tries.
func (h *httpSide) punctual(limit time.Duration, first, then string) string {
	h.Helper()
	for end := time.Now().Add(conntest.Patience); ; {
		began, late := time.Now(), false
		alive := func() {
			late, began = late || time.Since(began) >= limit/2, time.Now()
		}
		w, err := h.tryDial()
		if alive(); err != nil {
			require.True(h.T, late && time.Now().Before(end), err)
			continue
		}
		_, _ = io.WriteString(w, first)
		got := ""
		if first == hello {
			got = w.answer("GET")
			if alive(); then != "" {
				time.Sleep(5 * httpLinger) // else it is over before
				_, _ = io.WriteString(w, then)
			}
		}
		alive()
		if got += w.end(); !late || time.Now().After(end) {
			return got
		}
	}
}

func newWire(c net.Conn, h *httpSide) *httpWire { return &httpWire{c, h, bufio.NewReader(c)} }

func (w *httpWire) send(text string) {
	w.h.Helper()
	_, err := io.WriteString(w, text)
	require.NoError(w.h.T, err)
}

// slowly sends byte by byte.
func (w *httpWire) slowly(text string) {
	for i := range len(text) {
		w.send(text[i : i+1])
		if i%16 == 0 {
			time.Sleep(2 * httpLinger) // the server mostly waits for more then
		}
	}
}

// shut says that nothing more is going to be said.
func (w *httpWire) shut() { _ = w.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// answer returns one answer to a request with that method, or the failure in its place.
func (w *httpWire) answer(method string) string {
	r, err := http.ReadResponse(w.br, &http.Request{Method: method})
	if err != nil {
		return "no answer: " + err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	r.Header.Del("Date")
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %v %v %d close=%v\n", r.Proto, r.Status, r.TransferEncoding, err, r.ContentLength, r.Close)
	for _, k := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintln(&b, k, r.Header[k])
	}
	for _, k := range slices.Sorted(maps.Keys(r.Trailer)) {
		fmt.Fprintln(&b, "trailer", k, r.Trailer[k])
	}
	fmt.Fprintf(&b, "%q", body)
	return b.String()
}

var dates = regexp.MustCompile(`Date: [^\r]*\r\n`)

// end is how the connection ends.
func (w *httpWire) end() string {
	p, err := io.ReadAll(w.br)
	if err != nil && strings.Contains(err.Error(), "reset by peer") { // which it is depends on what the kernel has seen
		err = nil
	}
	return fmt.Sprintf("%q, end: %v", dates.ReplaceAll(p, nil), err)
}
