package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// kept is how many connections wait in the pool at the beginning of a test of stale ones.
const kept = 6

// A stale is an origin whose first kept connections end at their second request.
type stale struct {
	answer string                // to each first request
	end    func(net.Conn)        // called with a second request
	asked  func(r *http.Request) // nil, or called with each request
	first  atomic.Int32
	all    chan struct{} // closed when there are kept connections
}

func newStale(end func(net.Conn)) *stale {
	return &stale{answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", end: end, all: make(chan struct{})}
}

func (s *stale) serve(c net.Conn) {
	in := bufio.NewReader(c)
	again := false
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if s.asked != nil {
			s.asked(r)
		}
		if again {
			s.end(c)
			return
		}
		switch n := s.first.Add(1); {
		case n == kept:
			close(s.all)
		case n < kept:
			<-s.all
		default: // a new connection
			_, _ = io.Copy(io.Discard, r.Body)
		}
		again = true
		answer := s.answer
		if r.Header.Get("Upgrade") != "" {
			answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
		}
		_, _ = io.WriteString(c, answer)
	}
}

// fill makes the proxy keep that many connections to its upstream. Its clients stay: one that ends
// just after its answer takes the upstream's connection with it.
func (s *stale) fill(t *testing.T, f *fixture) {
	t.Helper()
	c := browser(t)
	conntest.Crowd(t, kept, kept, func(int) error {
		res, err := c.Get("http://" + f.addr())
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		return err
	})
	r := f.routes[0]
	pool := r.PoolOf(r.Set.All()[0].Address)
	conntest.Eventually(t, func() bool { return pool.Stats().Idle == kept })
}

// send sends a request on a connection of its own.
func (f *fixture) send(request string) *http.Response {
	f.t.Helper()
	c := f.dial()
	_, err := io.WriteString(c, request)
	require.NoError(f.t, err)
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	require.NoError(f.t, err)
	return res
}

// unblamed requires that no failure was charged to the upstream.
func (f *fixture) unblamed() {
	f.t.Helper()
	u := f.upstream(0)
	require.True(f.t, u.Healthy)
	require.Zero(f.t, u.Failures)
	require.Zero(f.t, f.route().Retried)
}

// endings are how servers end a connection that they have kept.
var endings = map[string]func(net.Conn){
	"close": func(net.Conn) {},
	"reset": func(c net.Conn) {
		if over, ok := c.(*tls.Conn); ok {
			c = over.NetConn()
		}
		reset(c.(*net.TCPConn))
	},
	"408": func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	},
}

// A kept connection may end while a request is on its way. The request is repeated until a new
// connection has it, and the upstream has not failed.
func TestARequestOutlivesAllStaleConnections(t *testing.T) {
	s := newSecret(t, "localhost")
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				for _, c := range []struct {
					version string
					covered bool
				}{{"HTTP/1.1", false}, {"HTTP/1.0", false}, {"HTTP/1.1", true}} {
					o := newStale(end)
					o.answer = c.version + " 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
					ln, err := net.Listen("tcp", "127.0.0.1:0")
					require.NoError(t, err)
					text := httpText(ln.Addr())
					if c.covered {
						text = secretText(ln.Addr(), s)
						ln = tls.NewListener(ln, s.server())
					}
					serveAll(t, ln, o.serve)
					f := start(t, backend, text)
					o.fill(t, f)
					for range 3 {
						res := f.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
						require.Equal(t, 200, res.StatusCode)
						p, err := io.ReadAll(res.Body)
						require.NoError(t, err)
						require.Equal(t, "ok", string(p))
					}
					f.unblamed()
				}
			})
		})
	}
}

func TestAnUpgradeOutlivesAllStaleConnections(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := newStale(endings["reset"])
		ln := listen(t, "127.0.0.1:0", o.serve)
		f := start(t, backend, httpText(ln.Addr()))
		o.fill(t, f)
		require.Equal(t, 101, f.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n").StatusCode)
		f.unblamed()
	})
}

// The upstream may have done what a request asks for, and a body is not there any more.
func TestAStaleConnectionIsA502ForARequestThatCannotBeRepeated(t *testing.T) {
	for name, request := range map[string]string{
		"POST":           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"POST, a body":   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
		"PUT, a body":    "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
		"PUT, in chunks": "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"PATCH":          "PATCH / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				var heads atomic.Int32
				o := newStale(endings["close"])
				o.asked = func(r *http.Request) {
					if r.Method != http.MethodGet {
						heads.Add(1)
					}
				}
				ln := listen(t, "127.0.0.1:0", o.serve)
				f := start(t, backend, httpText(ln.Addr()))
				o.fill(t, f)
				for i := range kept {
					require.Equal(t, 502, f.send(request).StatusCode)
					require.EqualValues(t, i+1, heads.Load())
				}
				require.Equal(t, 200, f.send(request).StatusCode, "on a new connection")
				f.unblamed()
			})
		})
	}
}

// A part of an answer shows that the upstream has got the request.
func TestAnUpstreamThatEndsAfterAPartOfAnAnswerHasFailed(t *testing.T) {
	for name, c := range map[string]struct {
		part   string
		status int
	}{
		"interim":         {"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", 502},
		"a head's start":  {"HTTP/1.1 20", 502},
		"408 to a POST":   {"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 408},
		"408, keep-alive": {"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", 408},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				o := newStale(func(s net.Conn) { _, _ = io.WriteString(s, c.part) })
				ln := listen(t, "127.0.0.1:0", o.serve)
				f := start(t, backend, httpText(ln.Addr(), "retries = 5"))
				o.fill(t, f)
				method := "GET"
				if strings.HasSuffix(name, "POST") {
					method = "POST"
				}
				client := f.dial()
				_, err := io.WriteString(client, method+" / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
				require.NoError(t, err)
				in := bufio.NewReader(client)
				res, err := http.ReadResponse(in, nil)
				for err == nil && res.StatusCode == 103 {
					res, err = http.ReadResponse(in, nil)
				}
				require.NoError(t, err)
				require.Equal(t, c.status, res.StatusCode)
				failures := 0
				if c.status == 502 {
					failures = 1
				}
				require.EqualValues(t, failures, f.upstream(0).Failures)
			})
		})
	}
}
