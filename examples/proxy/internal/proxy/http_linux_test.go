package proxy

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// behindHTTP is a proxy for HTTP before a handler of net/http.
func behindHTTP(t *testing.T, backend string, h http.HandlerFunc, more ...string) (*fixture, *httptest.Server) {
	t.Helper()
	o := httptest.NewServer(h)
	t.Cleanup(o.Close)
	return start(t, backend, httpText(o.Listener.Addr(), more...)), o
}

func httpText(upstream net.Addr, more ...string) string {
	return fmt.Sprintf("[[route]]\nname = 'main'\nlisten = ['http://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]\n%s", upstream, strings.Join(more, "\n"))
}

// browser is a client with connections of its own.
func browser(t *testing.T) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: conntest.Patience}
}

func TestRequestsGoThroughOnConnectionsThatAreKept(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var seen sync.Map
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			seen.Store(r.RemoteAddr, true)
			fmt.Fprintf(w, "%s %s", r.Method, r.URL)
		})
		c := browser(t)
		conntest.Crowd(t, 200, 4, func(i int) error {
			res, err := c.Get(fmt.Sprintf("http://%s/x?%d", f.addr(), i))
			if err != nil {
				return err
			}
			defer res.Body.Close()
			p, err := io.ReadAll(res.Body)
			if want := fmt.Sprintf("GET /x?%d", i); err == nil && string(p) != want {
				err = fmt.Errorf("%q for %q", p, want)
			}
			return err
		})
		n := 0
		seen.Range(func(any, any) bool { n++; return true })
		require.LessOrEqual(t, n, 12, "connections to the upstream")
		require.EqualValues(t, 200, f.route().Requests)
	})
}

func TestBodiesStreamBothWaysWhateverTheirFraming(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex()
			if r.ContentLength >= 0 {
				w.Header().Set("Content-Length", r.Header.Get("Content-Length"))
			}
			_, _ = io.Copy(w, r.Body)
		})
		c := browser(t)
		body := make([]byte, 10<<20)
		for i := range body {
			body[i] = byte(rand.Uint32())
		}
		want := sha256.Sum256(body)
		for name, r := range map[string]io.Reader{"length": bytes.NewReader(body), "chunks": struct{ io.Reader }{bytes.NewReader(body)}} {
			res, err := c.Post("http://"+f.addr()+"/", "x/y", r)
			require.NoError(t, err, name)
			sum := sha256.New()
			n, err := io.Copy(sum, res.Body)
			require.NoError(t, err, name)
			require.NoError(t, res.Body.Close())
			require.EqualValues(t, len(body), n, name)
			require.Equal(t, want[:], sum.Sum(nil), name)
		}
	})
}

// Each part of an answer reaches the other side before the next part arrives.
func TestAnAnswerIsPassedOnAsItComes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		next := make(chan string)
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, _ *http.Request) {
			for s := range next {
				_, _ = io.WriteString(w, s)
				_ = http.NewResponseController(w).Flush()
			}
		})
		go func() { next <- "one" }()
		res, err := browser(t).Get("http://" + f.addr())
		require.NoError(t, err)
		defer res.Body.Close()
		p := make([]byte, 3)
		_, err = io.ReadFull(res.Body, p)
		require.NoError(t, err)
		next <- "two"
		_, err = io.ReadFull(res.Body, p)
		require.NoError(t, err)
		require.Equal(t, "two", string(p))
		close(next)
		_, err = res.Body.Read(p)
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestTheUpstreamLearnsWhoAsksAndNothingOfTheConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		got := make(chan *http.Request, 1)
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			got <- r
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			w.Header().Set("X-End", "2")
		})
		c := f.dial()
		_, err := io.WriteString(c, "GET http://shop.example/a?b HTTP/1.1\r\nHost: other\r\nConnection: X-Secret, keep-alive\r\nX-Secret: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"+
			"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nForwarded: for=192.0.2.7\r\nX-Kept: yes\r\n\r\n")
		require.NoError(t, err)
		r := conntest.Receive(t, got)
		require.Equal(t, "shop.example", r.Host)
		require.Equal(t, "/a?b", r.RequestURI)
		for name, want := range map[string]string{
			"X-Secret": "", "Keep-Alive": "", "Te": "trailers", "Connection": "TE", "X-Kept": "yes", "X-Forwarded-For": "192.0.2.7, 127.0.0.1", "X-Forwarded-Proto": "http",
			"X-Forwarded-Host": "shop.example", "Forwarded": `for=192.0.2.7, for=127.0.0.1;host="shop.example";proto=http`, "Via": "1.1 suiro",
		} {
			require.Equal(t, want, r.Header.Get(name), name)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Empty(t, res.Header.Get("X-Hop"))
		require.Equal(t, "2", res.Header.Get("X-End"))
	})
}

// Requests that two parties could understand differently are answered by the gateway: no
// upstream ever sees them, nor what hides behind them.
func TestNoRequestIsSmuggledToTheUpstream(t *testing.T) {
	type expectation struct {
		S []int
		N int
	}
	type testCase struct {
		ID     int
		Desc   string
		Raw    *string
		Recipe struct {
			Head, Repeat, Tail string
			Count              int
		}
		Out []expectation
	}
	var cases []testCase
	for _, name := range []string{"cases.json", "more.json"} {
		text, err := os.ReadFile("../../../http/h1/testdata/" + name)
		require.NoError(t, err)
		var some []testCase
		require.NoError(t, json.Unmarshal(text, &some))
		cases = append(cases, some...)
	}
	require.Greater(t, len(cases), 40)
	conntest.Backends(t, func(t *testing.T, backend string) {
		var targets sync.Map
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			targets.Store(r.URL.Path, true)
			_, _ = io.Copy(w, r.Body)
		})
		refused := 0
		for _, c := range cases {
			var text strings.Builder
			text.WriteString(c.Recipe.Head)
			if c.Raw != nil {
				text.WriteString(*c.Raw)
			}
			for i := range c.Recipe.Count {
				text.WriteString(strings.ReplaceAll(c.Recipe.Repeat, "%d", strconv.Itoa(i)))
			}
			text.WriteString(c.Recipe.Tail)
			raw := make([]byte, 0, text.Len())
			for _, r := range text.String() {
				raw = append(raw, byte(r))
			}
			mayServe := slices.ContainsFunc(c.Out, func(o expectation) bool {
				return o.N > 0 || slices.Contains(o.S, 200) || slices.Contains(o.S, 413) // how long a body may be is the upstream's affair
			})
			targets.Clear()
			conn := f.dial()
			go func() {
				_, _ = conn.Write(raw)
				if mayServe || slices.ContainsFunc(c.Out, func(o expectation) bool { return len(o.S) == 0 }) {
					_ = conn.CloseWrite() // else the answer ends it: a client that half-closes waits for none
				}
			}()
			var statuses []int
			in := bufio.NewReader(conn)
			for {
				res, err := http.ReadResponse(in, nil)
				if err != nil {
					break
				}
				if res.StatusCode != 100 {
					statuses = append(statuses, res.StatusCode)
				}
				_, _ = io.Copy(io.Discard, res.Body)
			}
			_ = conn.Close()
			if mayServe {
				continue
			}
			refused++
			require.True(t, slices.ContainsFunc(c.Out, func(o expectation) bool {
				return len(o.S) == len(statuses) && (len(o.S) == 0 || o.S[0] == statuses[0]) || len(statuses) == 1 && slices.Contains(o.S, statuses[0])
			}), "%d %s: %v", c.ID, c.Desc, statuses)
			_, seen := targets.Load("/smug")
			require.False(t, seen, "%d %s", c.ID, c.Desc)
		}
		require.Greater(t, refused, 20)
	})
}

// Answers that two parties could understand differently become a 502, and the connection they
// came on is not used again.
func TestNoAnswerIsSmuggledToAClient(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var answer atomic.Value
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			in := bufio.NewReader(c)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(c, answer.Load().(string))
			}
		})
		f := start(t, backend, httpText(o.Addr()))
		const next = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
		for name, bad := range map[string]string{
			"length and chunks":   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next,
			"two lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + next,
			"a length of -1":      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + next,
			"a fold":              "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 5\r\n\r\nhello" + next,
			"a space before :":    "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello" + next,
			"a bare CR":           "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 5\r\n\r\nhello" + next,
			"a list of lengths":   "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello" + next,
			"a body of 103":       "HTTP/1.1 103 Hints\r\nContent-Length: 5\r\n\r\nhello" + next,
			"chunked, then other": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n" + next,
			"chunks in 1.0":       "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next,
			"a status of letters": "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
			"a body of 204":       "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next,
			"not HTTP at all":     "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		} {
			answer.Store(bad)
			c := f.dial()
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			all, err := io.ReadAll(c)
			require.NoError(t, err, name)
			require.True(t, bytes.HasPrefix(all, []byte("HTTP/1.1 502 ")), "%s: %q", name, all)
			require.NotContains(t, string(all), "smuggled", name)
		}
		for name, bad := range map[string]string{
			"a chunk size of words": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + next,
			"a chunk size with LF":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n" + next,
			"a size of two words":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n" + next,
			"a chunk that goes on":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n" + next,
		} {
			answer.Store(bad)
			c := f.dial()
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			all, err := io.ReadAll(c)
			require.Error(t, err, "%s: the client is not to take %q for whole", name, all)
			require.NotContains(t, string(all), "smuggled", name)
		}
		answer.Store("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + next) // more than was asked for
		for range 3 {
			c := f.dial()
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			require.NoError(t, err)
			all, err := io.ReadAll(c)
			require.NoError(t, err)
			require.True(t, bytes.HasSuffix(all, []byte("\r\n\r\nok")), "%q", all)
		}
	})
}

func TestAnUpgradeIsPassedThrough(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "echo" {
				http.Error(w, "no", http.StatusBadRequest)
				return
			}
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello ")
			_, _ = io.Copy(struct{ io.Writer }{c}, rw.Reader)
		})
		c := f.dial()
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly")
		require.NoError(t, err)
		in := bufio.NewReader(c)
		res, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, 101, res.StatusCode)
		require.Equal(t, "echo", res.Header.Get("Upgrade"))
		p := make([]byte, len("hello early"))
		_, err = io.ReadFull(in, p)
		require.NoError(t, err)
		require.Equal(t, "hello early", string(p))
		require.NoError(t, c.CloseWrite())
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		conntest.Eventually(t, func() bool { return f.route().Active == 0 })
	})
}

func TestAClientThatExpectsToContinueIsToldByTheUpstream(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		c := f.dial()
		in := bufio.NewReader(c)
		_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, 100, res.StatusCode)
		_, err = io.WriteString(c, "body")
		require.NoError(t, err)
		res, err = http.ReadResponse(in, nil)
		require.NoError(t, err)
		p, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, "body", string(p))
	})
}

func TestAnUpstreamThatIsNotThereOrSilentIsA502OrA504(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, o := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "reply_timeout = '50ms'")
		c := browser(t)
		res, err := c.Get("http://" + f.addr())
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 504, res.StatusCode)
		o.Close()
		res, err = c.Get("http://" + f.addr())
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 502, res.StatusCode)
	})
}

func TestHTTPIsReloadedAndDrainedWithoutARequestThatFails(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		slow, begun := make(chan struct{}), make(chan struct{}, 1)
		h := func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				begun <- struct{}{}
				<-slow
			}
			_, _ = io.WriteString(w, "done")
		}
		f, o := behindHTTP(t, backend, h, "health = {fails = 100}")
		other := httptest.NewServer(http.HandlerFunc(h))
		t.Cleanup(other.Close)
		addr := f.addr()
		c := browser(t)
		get := func(path string) error {
			res, err := c.Get("http://" + addr + path)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			p, err := io.ReadAll(res.Body)
			if err == nil && (res.StatusCode != 200 || string(p) != "done") {
				err = fmt.Errorf("%s %q", res.Status, p)
			}
			return err
		}
		var stop atomic.Bool
		var asked atomic.Int64
		loads := make(chan error, 4)
		for range cap(loads) {
			go func() {
				for !stop.Load() {
					if err := get("/"); err != nil {
						loads <- err
						return
					}
					asked.Add(1)
				}
				loads <- nil
			}()
		}
		for i := range 10 {
			n := asked.Load()
			to := o.Listener.Addr()
			if i%2 == 0 {
				to = other.Listener.Addr()
			}
			require.NoError(t, f.Reload(f.parse(httpText(to, "health = {fails = 100}"))))
			conntest.Eventually(t, func() bool { return asked.Load() > n+8 || len(loads) > 0 })
		}
		stop.Store(true)
		for range cap(loads) {
			require.NoError(t, conntest.Receive(t, loads))
		}
		last := make(chan error, 1)
		go func() { last <- get("/slow") }()
		conntest.Receive(t, begun)
		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		conntest.Eventually(t, func() bool {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		close(slow)
		require.NoError(t, conntest.Receive(t, last))
		require.NoError(t, conntest.Receive(t, ended))
	})
}

func TestAGatewayTerminatesTLSAndOriginatesIt(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-Proto"))
		}))
		o.TLS = s.server()
		o.StartTLS()
		t.Cleanup(o.Close)
		_, port, err := net.SplitHostPort(o.Listener.Addr().String())
		require.NoError(t, err)
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['http://127.0.0.1:0']\nupstream = [{address = 'tls://127.0.0.1:%s'}]\ntls = {certificate = '%s', key = '%s'}\nupstream_tls = {ca = '%[2]s', server_name = 'localhost'}", port, s.cert, s.key))
		tr := &http.Transport{TLSClientConfig: s.client("localhost")}
		t.Cleanup(tr.CloseIdleConnections)
		for range 3 {
			res, err := (&http.Client{Transport: tr, Timeout: conntest.Patience}).Get("https://" + f.addr())
			require.NoError(t, err)
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, "https", string(p))
		}
	})
}
