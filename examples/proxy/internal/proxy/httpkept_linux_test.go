package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	limits "github.com/suiro-go/suiro/examples/proxy/internal/limit"
	"github.com/suiro-go/suiro/internal/conntest"
)

// behindTLS is a proxy for HTTP before a handler of net/http within TLS.
func behindTLS(t *testing.T, backend string, s *secret, h http.HandlerFunc, more ...string) (*fixture, *httptest.Server) {
	t.Helper()
	o := httptest.NewUnstartedServer(h)
	o.TLS = s.server()
	o.StartTLS()
	t.Cleanup(o.Close)
	return start(t, backend, secretText(o.Listener.Addr(), s, more...)), o
}

func secretText(upstream net.Addr, s *secret, more ...string) string {
	return fmt.Sprintf("[[route]]\nname = 'main'\nlisten = ['http://127.0.0.1:0']\nupstream = [{address = 'tls://%v'}]\nupstream_tls = {ca = '%s', server_name = 'localhost'}\n%s",
		upstream, s.cert, strings.Join(more, "\n"))
}

// peers are the connections that a handler has seen.
type peers struct{ seen sync.Map }

func (p *peers) note(r *http.Request) { p.seen.Store(r.RemoteAddr, true) }

func (p *peers) count() (n int) {
	p.seen.Range(func(any, any) bool { n++; return true })
	return n
}

func TestConnectionsWithinTLSToUpstreamsAreKept(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		var all peers
		f, o := behindTLS(t, backend, s, func(w http.ResponseWriter, r *http.Request) {
			all.note(r)
			p, _ := io.ReadAll(r.Body)
			_, _ = w.Write(p)
		})
		c := browser(t)
		post := func(i int) error {
			want := strings.Repeat(fmt.Sprint(i), 1+i*100)
			res, err := c.Post("http://"+f.addr(), "x/y", strings.NewReader(want))
			if err != nil {
				return err
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err == nil && string(got) != want {
				err = fmt.Errorf("%d bytes for %d: %s", len(got), len(want), res.Status)
			}
			return err
		}
		for i := range 20 {
			require.NoError(t, post(i))
		}
		require.Less(t, all.count(), 5, "connections, one request after the other, which may overtake the one that is given back")
		conntest.Crowd(t, 200, 4, post)
		require.LessOrEqual(t, all.count(), 12, "connections")
		o.CloseClientConnections()
		require.NoError(t, post(1), "none is used that the upstream has closed")
		require.NoError(t, f.Reload(f.parse(secretText(o.Listener.Addr(), s))))
		require.NoError(t, post(2), "from a connection of before")
		c.CloseIdleConnections()
		require.NoError(t, post(3), "from a new one")
	})
}

// Each route has as many requests at a time as connections of one pool may wait. A pool for each
// route would take descriptors that the budget divides among clients.
func TestRoutesThatBelieveTheSameUpstreamsShareIdleConnections(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		var limit syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
		few := limit
		few.Cur = 512
		restore := sync.OnceFunc(func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) })
		t.Cleanup(restore)
		var open, asking atomic.Int64
		round := make(chan struct{})
		o := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			asking.Add(1)
			<-round
		}))
		o.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}
		o.TLS = s.server()
		o.StartTLS()
		t.Cleanup(o.Close)
		text := ""
		for i := range 3 {
			text += strings.Replace(secretText(o.Listener.Addr(), s), "'main'", fmt.Sprint("'", i, "'"), 1)
		}
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
		most := limits.Idle()
		f := start(t, backend, text)
		restore()
		c := browser(t)
		results := make(chan error, 3*most)
		for _, at := range f.Addresses() {
			for range most {
				go func() {
					res, err := c.Get("http://" + at.Host)
					if err == nil {
						_, err = io.Copy(io.Discard, res.Body)
						_ = res.Body.Close()
					}
					results <- err
				}()
			}
		}
		conntest.Eventually(t, func() bool { return asking.Load() == int64(cap(results)) || len(results) > 0 })
		close(round)
		for range cap(results) {
			require.NoError(t, conntest.Receive(t, results))
		}
		conntest.Eventually(t, func() bool { return open.Load() <= int64(most) }, "connections that wait")
	})
}

// Bytes of an upstream that no request asked for are not the answer to a later request.
func TestWhatFollowsAnAnswerWithinTLSIsNotTheNextOne(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", s.server())
		require.NoError(t, err)
		o := serveAll(t, ln, func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled")
			}
		})
		f := start(t, backend, secretText(o.Addr(), s))
		c := browser(t)
		for range 5 {
			res, err := c.Get("http://" + f.addr())
			require.NoError(t, err)
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, "ok", string(p))
		}
	})
}

// A client of HTTP/1.0 that asks for it keeps its connection where the end of an answer is known
// without that.
func TestAClientOfHTTP10KeepsItsConnectionIfItAsks(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/chunks" {
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.WriteString(w, "ok")
		})
		c := f.dial()
		in := bufio.NewReader(c)
		ask := func(head, connection string) *http.Response {
			_, err := io.WriteString(c, head+"\r\n\r\n")
			require.NoError(t, err)
			method, _, _ := strings.Cut(head, " ")
			res, err := http.ReadResponse(in, &http.Request{Method: method})
			require.NoError(t, err)
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, method != "HEAD", string(p) == "ok", head)
			require.Equal(t, connection, res.Header.Get("Connection"), head)
			return res
		}
		ask("GET / HTTP/1.0\r\nConnection: keep-alive", "keep-alive")
		ask("HEAD / HTTP/1.0\r\nConnection: Keep-Alive", "keep-alive")
		ask("GET / HTTP/1.1\r\nHost: a", "")
		ask("GET / HTTP/1.0\r\nConnection: keep-alive", "keep-alive")
		res := ask("GET /chunks HTTP/1.0\r\nConnection: keep-alive", "")
		require.True(t, res.Close, "it ends with the connection")
		_, err := in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		c = f.dial()
		in.Reset(c)
		res = ask("GET / HTTP/1.0", "")
		require.True(t, res.Close)
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	})
}

// A body is not gathered before it goes on.
func TestARequestIsPassedOnAsItComes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		pieces := make(chan string, 1)
		f, _ := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) {
			p := make([]byte, 3)
			for {
				if _, err := io.ReadFull(r.Body, p); err != nil {
					return
				}
				pieces <- string(p)
			}
		})
		for _, framing := range []struct{ head, one, two string }{
			{"Content-Length: 6", "one", "two"}, {"Transfer-Encoding: chunked", "3\r\none\r\n", "3\r\ntwo\r\n0\r\n\r\n"},
		} {
			c := f.dial()
			_, err := io.WriteString(c, "PUT / HTTP/1.1\r\nHost: a\r\n"+framing.head+"\r\n\r\n"+framing.one)
			require.NoError(t, err)
			require.Equal(t, "one", conntest.Receive(t, pieces))
			_, err = io.WriteString(c, framing.two)
			require.NoError(t, err)
			require.Equal(t, "two", conntest.Receive(t, pieces))
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.Equal(t, 200, res.StatusCode)
		}
	})
}

func TestAnIdleClientHasNoGoroutineWithinTLSEither(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
		})
		f := start(t, backend, httpText(o.Addr(), fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", s.cert, s.key)))
		const n = 40
		var clients [n]*bufio.ReadWriter
		for i := range clients {
			c := tls.Client(f.dial(), s.client("localhost"))
			clients[i] = bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))
		}
		ask := func(i int) error {
			_, _ = clients[i].WriteString("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if err := clients[i].Flush(); err != nil {
				return err
			}
			res, err := http.ReadResponse(clients[i].Reader, nil)
			if err != nil {
				return err
			}
			p, err := io.ReadAll(res.Body)
			if err == nil && string(p) != "ok" {
				err = fmt.Errorf("%s: %q", res.Status, p)
			}
			return err
		}
		for range 3 {
			for i := range clients {
				require.NoError(t, ask(i))
			}
			conntest.Eventually(t, func() bool { return runtime.NumGoroutine() < n })
		}
		require.EqualValues(t, n, f.route().Active)
	})
}
