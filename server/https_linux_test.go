package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// tellTLS answers with the TLS state that its handler gets.
func tellTLS() *http.Server {
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := r.TLS
		if s == nil {
			fmt.Fprint(w, "none")
			return
		}
		fmt.Fprint(w, r.Proto, " ", s.Version, " ", s.ServerName, " ", s.NegotiatedProtocol, " ", s.HandshakeComplete, " ", s.DidResume)
	})}
}

func TestRequestsHaveTheStateOfTheirTLS(t *testing.T) {
	var want string
	onHTTPS(t, tellTLS, func(h *httpSide) {
		var got strings.Builder
		h.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			h.tls.MinVersion, h.tls.MaxVersion = version, version
			for range 2 { // the second resumes a session
				w := h.dial()
				for range 3 {
					w.send(hello)
					fmt.Fprintln(&got, w.answer("GET"))
					h.idle()
				}
			}
		}
		if !h.ours {
			want = got.String()
		}
		require.Equal(h.T, want, got.String())
	})
	require.Contains(t, want, fmt.Sprint("HTTP/1.1 ", tls.VersionTLS12, "   true true"))
	onHTTP(t, tellTLS, func(h *httpSide) {
		w := h.dial()
		w.send(hello)
		require.Contains(h.T, w.answer("GET"), `"none"`)
	})
}

// http2Client is net/http's, which speaks HTTP/2 if the server does.
func (h *httpSide) http2Client() *http.Client {
	tr := &http.Transport{TLSClientConfig: h.tls.Clone(), ForceAttemptHTTP2: true}
	h.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: conntest.Patience}
}

func ask(c *http.Client, url, body string) (string, error) {
	r, err := c.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	p, err := io.ReadAll(r.Body)
	return string(p), err
}

// ALPN selects the protocol that net/http would select with the same http.Server.
func TestProtocolsAreThoseOfTheHTTPServer(t *testing.T) {
	only := func(http1, http2 bool) *http.Protocols {
		p := new(http.Protocols)
		p.SetHTTP1(http1)
		p.SetHTTP2(http2)
		return p
	}
	for name, c := range map[string]struct {
		change func(*http.Server)
		want   string
	}{
		"by default": {func(*http.Server) {}, "HTTP/2.0"},
		"HTTP/1":     {func(s *http.Server) { s.Protocols = only(true, false) }, "HTTP/1.1"},
		"HTTP/2":     {func(s *http.Server) { s.Protocols = only(false, true) }, "HTTP/2.0"},
		"off, as it was": {func(s *http.Server) {
			s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		}, "HTTP/1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			onHTTPS(t, func() *http.Server {
				s := tellTLS()
				c.change(s)
				return s
			}, func(h *httpSide) {
				got, err := ask(h.http2Client(), "https://"+h.addr, "")
				require.NoError(h.T, err)
				require.Contains(h.T, got, c.want)
			})
		})
	}
}

// An HTTP/2 connection serves many requests at once, and is not given back between them.
func TestHTTP2ByALPNStaysWithNetHTTP(t *testing.T) {
	onHTTPS(t, func() *http.Server { return &http.Server{Handler: site()} }, func(h *httpSide) {
		client := h.http2Client()
		for _, size := range []int{0, 100, 300_000} {
			conntest.Each(h.T, 20, func(i int) error {
				body := strings.Repeat("x", size+i)
				got, err := ask(client, "https://"+h.addr+"/echo", body)
				if want := body + " <nil> map[] POST"; err == nil && got != want {
					err = fmt.Errorf("%d bytes came back, not %d", len(got), len(want))
				}
				return err
			})
			time.Sleep(5 * httpLinger) // not for anything to happen: it is idle, and remains net/http's
		}
		if h.ours {
			// The client dials for each request that finds no connection, and closes the others.
			conntest.Eventually(h.T, func() bool { return h.s.Group().Len() == 1 && active() == 1 })
		}
		w := h.dial() // beside HTTP/1
		w.send(hello)
		require.Contains(h.T, w.answer("GET"), "HTTP/1.1 200")
	})
}

func TestConnStateOfHTTP2IsToldAsByNetHTTP(t *testing.T) {
	var mu sync.Mutex
	var states []string
	var want []string
	onHTTPS(t, func() *http.Server {
		states = nil
		return &http.Server{Handler: site(), ConnState: func(_ net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, s.String())
		}}
	}, func(h *httpSide) {
		told := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), states...)
		}
		last := func(s string) {
			conntest.Eventually(h.T, func() bool { all := told(); return len(all) > 0 && all[len(all)-1] == s }, func() string { return fmt.Sprint(told()) })
		}
		client := h.http2Client()
		for range 2 {
			_, err := ask(client, "https://"+h.addr+"/echo", "x")
			require.NoError(h.T, err)
			last("idle")
		}
		client.CloseIdleConnections()
		last("closed")
		if !h.ours {
			want = told()
		}
		require.Equal(h.T, want, told())
	})
}

// Requests of HTTP/2 in progress are served when the server stops, and idle connections end.
func TestShutdownEndsHTTP2InOrder(t *testing.T) {
	var began, release chan struct{}
	onHTTPS(t, func() *http.Server {
		began, release = make(chan struct{}), make(chan struct{})
		return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				began <- struct{}{}
				<-release
			}
			_, _ = io.WriteString(w, r.Proto)
		})}
	}, func(h *httpSide) {
		idle, slow := h.http2Client(), h.http2Client()
		for _, c := range []*http.Client{idle, slow} {
			_, err := ask(c, "https://"+h.addr, "")
			require.NoError(h.T, err)
		}
		answer := make(chan string, 1)
		go func() {
			got, err := ask(slow, "https://"+h.addr+"/slow", "")
			answer <- fmt.Sprint(got, err)
		}()
		conntest.Receive(h.T, began)
		stopped := make(chan error, 1)
		go func() { stopped <- h.stop() }()
		select {
		case err := <-stopped:
			h.Fatal("it has not waited: ", err)
		case <-time.After(10 * time.Millisecond):
		}
		close(release)
		require.Equal(h.T, "HTTP/2.0<nil>", conntest.Receive(h.T, answer))
		require.NoError(h.T, conntest.Receive(h.T, stopped))
	})
}

// A client that takes the port for one of HTTP is told so, in words it understands.
func TestPlainRequestsOfHTTPSAreAnswered(t *testing.T) {
	want := map[string]string{}
	onHTTPS(t, func() *http.Server { return &http.Server{Handler: site()} }, func(h *httpSide) {
		for _, sent := range []string{hello, "HEAD / HTTP/1.1\r\n\r\n", "NONSENSE"} {
			c, err := net.DialTimeout("tcp", h.addr, conntest.Patience)
			require.NoError(h.T, err)
			require.NoError(h.T, c.SetDeadline(time.Now().Add(conntest.Patience)))
			w := &httpWire{c, h, bufio.NewReader(c)}
			w.send(sent)
			got := w.end()
			if !h.ours {
				want[sent] = got
			}
			require.Equal(h.T, want[sent], got, sent)
			require.NoError(h.T, c.Close())
		}
	})
	require.Contains(t, want[hello], "Client sent an HTTP request to an HTTPS server.")
}

// The limits hold with TLS, too, whether a worker or net/http looks after them.
func TestSilentClientsOfHTTPSLoseTheirConnections(t *testing.T) {
	const short, long = 50 * time.Millisecond, time.Hour
	const bad = `"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request", end: <nil>`
	for name, c := range map[string]struct {
		header, idle time.Duration
		first, then  string
	}{
		"new, nothing":           {header: short, idle: long},
		"new, some of a header":  {header: short, idle: long, first: "GET /he"},
		"idle":                   {idle: short, header: long, first: hello},
		"idle, three bytes":      {idle: short, header: long, first: hello, then: "GET"},
		"idle, some of a header": {idle: short, header: long, first: hello, then: "\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			onOurHTTPS(t, func() *http.Server {
				return &http.Server{Handler: site(), ReadHeaderTimeout: c.header, IdleTimeout: c.idle}
			}, func(h *httpSide) {
				got := h.punctual(short, c.first, c.then)
				if c.first == hello {
					require.Contains(h.T, got, `"hello"`)
					got = got[strings.LastIndex(got, `"hello"`)+len(`"hello"`):]
				}
				// net/http answers the one with some of a header, over TLS, and so does it here
				require.Contains(h.T, []string{`"", end: <nil>`, bad}, got)
			})
		})
	}
}

// New keys, of both directions, may come between requests, to the worker, or within one.
func TestKeysAreChangedBetweenRequests(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	onOurHTTPS(t, func() *http.Server { return &http.Server{Handler: site()} }, func(h *httpSide) {
		cmd := exec.CommandContext(h.Context(), openssl, "s_client", "-connect", h.addr, "-tls1_3", "-crlf")
		in, err := cmd.StdinPipe()
		require.NoError(h.T, err)
		out, err := os.Create(h.TempDir() + "/out")
		require.NoError(h.T, err)
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(h.T, cmd.Start())
		defer func() {
			_ = in.Close()
			_ = cmd.Wait()
		}()
		text := func() string {
			p, _ := os.ReadFile(out.Name())
			return string(p)
		}
		said := func(what string, n int) {
			conntest.Eventually(h.T, func() bool { return strings.Count(text(), what) == n }, text)
		}
		said("New, TLSv1.3", 1)
		for i := range 6 {
			_, _ = io.WriteString(in, "GET /hello HTTP/1.1\nHost: x\n\n")
			said("200 OK", i+1)
			if i%2 == 0 {
				h.idle()
			}
			_, _ = io.WriteString(in, "K\n")
			said("KEYUPDATE", i+1)
		}
	})
}

// A hijacked connection has the methods of a *tls.Conn, and ends with close-notify.
func TestConnectionsHijackedFromHTTPSAreTLS(t *testing.T) {
	of, client := httpsConfig(t)
	type secure interface {
		ConnectionState() tls.ConnectionState
		HandshakeContext(context.Context) error
		CloseWrite() error
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := serveHTTP(t, backend, of, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			go func() {
				defer c.Close()
				line, err := rw.ReadString('\n')
				fmt.Fprint(c, line, err, " ", c.(secure).ConnectionState().HandshakeComplete)
			}()
		})})
		h.tls = client
		w := h.dial()
		w.send(hello)
		time.Sleep(5 * httpLinger) // not for anything to happen: it is hijacked, and remains so
		w.send("line\n")
		require.Equal(t, `"line\n<nil> true", end: <nil>`, w.end())
	})
}

// The server's own TLS is left as it was.
func TestHTTPSChangesNoConfiguration(t *testing.T) {
	of, client := httpsConfig(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := serveHTTP(t, backend, of, &http.Server{Handler: site()})
		h.tls = client
		w := h.dial()
		w.send(hello)
		require.Contains(t, w.answer("GET"), "hello")
		require.Empty(t, of.NextProtos)
	})
}
