package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// onOurHTTP runs a test on ours alone, on each backend.
func onOurHTTP(t *testing.T, configure func() *http.Server, test func(h *httpSide)) {
	conntest.Backends(t, func(t *testing.T, backend string) { test(serveHTTP(t, backend, nil, configure())) })
}

// onOurHTTPS is onOurHTTP with TLS.
func onOurHTTPS(t *testing.T, configure func() *http.Server, test func(h *httpSide)) {
	of, client := httpsConfig(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := serveHTTP(t, backend, of, configure())
		h.tls = client
		test(h)
	})
}

func TestIdleConnectionsHaveNoGoroutine(t *testing.T) {
	configure := func() *http.Server { return &http.Server{Handler: site(), IdleTimeout: time.Hour} }
	test := func(h *httpSide) {
		first := h.dial() // starts goroutines that exist once
		first.send(hello)
		require.Contains(h.T, first.answer("GET"), "hello")
		h.idle()
		// The sentry was made before that, but net/http may still be about to start its goroutine.
		conntest.Eventually(h.T, func() bool { return strings.Contains(stacks(), inSentry) }, "the sentry")
		before := runtime.NumGoroutine()
		all := make([]*httpWire, 500)
		if h.tls != nil {
			all = all[:100] // handshakes are slow under the race detector
		}
		for i := range all {
			all[i] = h.dial()
		}
		for range 3 {
			for _, w := range all {
				w.send(hello)
			}
			for _, w := range all {
				require.Contains(h.T, w.answer("GET"), "hello")
			}
			// Check both: an older goroutine may have ended while the last of these is still about
			// to end.
			conntest.Eventually(h.T, func() bool { return active() == 0 && runtime.NumGoroutine() < before+len(all)/4 },
				func() string {
					return fmt.Sprint(runtime.NumGoroutine(), " goroutines, were ", before, "; active: ", active())
				})
			require.Equal(h.T, len(all)+1, h.s.Group().Len(), "they are all there")
		}
	}
	t.Run("plain", func(t *testing.T) { onOurHTTP(t, configure, test) })
	t.Run("TLS", func(t *testing.T) { onOurHTTPS(t, configure, test) })
}

// Bytes that arrive while a connection passes to the workers, or from them, are neither lost nor
// out of order. Clients send requests around the moment at which it is given back.
func TestRequestsAtTheMomentOfHandingBackAreServed(t *testing.T) {
	const conns = 50
	for _, linger := range []time.Duration{0, 200 * time.Microsecond} {
		t.Run(linger.String(), func(t *testing.T) {
			eitherSide(t, linger, func(s *running, client *tls.Config) {
				requests := 100
				if conntest.Thorough {
					requests *= 2
				}
				if client != nil { // which takes longer
					requests /= 4
				}
				conntest.Each(t, conns, func(i int) error { return askAtRandom(s.addr.String(), client, i, requests) })
			})
		})
	}
}

// eitherSide serves on each backend, with and without TLS.
func eitherSide(t *testing.T, linger time.Duration, test func(s *running, client *tls.Config)) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		of, client := httpsConfig(t)
		serve := func(of *tls.Config) *running {
			return run(t, &server.Server{Handler: server.WithLinger(server.HTTP(site()), linger), Backend: backend, Workers: 2, TLS: of})
		}
		test(serve(nil), nil)
		test(serve(of), client)
	})
}

// dialHTTP is a client's connection, with TLS if there is a configuration.
func dialHTTP(addr string, cfg *tls.Config) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", addr, conntest.Patience)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(conntest.Patience))
	if cfg != nil {
		c = tls.Client(c, cfg)
	}
	return c, nil
}

func askAtRandom(addr string, cfg *tls.Config, seed, requests int) error {
	c, err := dialHTTP(addr, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	br := bufio.NewReader(c)
	for i := 0; i < requests; {
		batch := 1 + rnd.IntN(3)
		var text strings.Builder
		for k := range batch {
			body := fmt.Sprint(seed, " ", i+k)
			fmt.Fprintf(&text, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
		all := text.String()
		cut := rnd.IntN(len(all)) // in two pieces, at any place
		for _, piece := range []string{all[:cut], all[cut:]} {
			if _, err := io.WriteString(c, piece); err != nil {
				return fmt.Errorf("connection %d, request %d: %w", seed, i, err)
			}
			pause(rnd)
		}
		for k := range batch {
			r, err := http.ReadResponse(br, nil)
			if err != nil {
				return fmt.Errorf("connection %d, request %d: %w", seed, i+k, err)
			}
			p, err := io.ReadAll(r.Body)
			if want := fmt.Sprint(seed, " ", i+k, " <nil> map[] POST"); err != nil || string(p) != want {
				return fmt.Errorf("connection %d: %q %v, not %q", seed, p, err, want)
			}
		}
		i += batch
		pause(rnd)
	}
	return nil
}

func pause(rnd *rand.Rand) {
	switch d := rnd.IntN(600); {
	case d < 100:
	case d < 200:
		runtime.Gosched()
	default:
		time.Sleep(time.Duration(d) * time.Microsecond)
	}
}

// The same for the end: a client that goes away at that moment leaves nothing behind.
func TestEndsAtTheMomentOfHandingBackAreSeen(t *testing.T) {
	eitherSide(t, 0, func(s *running, client *tls.Config) {
		conns := 600
		if client != nil {
			conns = 200
		}
		conntest.Crowd(t, conns, 30, func(i int) error {
			c, err := dialHTTP(s.addr.String(), client)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, hello); err != nil {
				return err
			}
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				return err
			}
			for range i % 20 {
				runtime.Gosched()
			}
			switch i % 3 {
			case 0:
				raw := c
				if t, ok := c.(*tls.Conn); ok {
					raw = t.NetConn()
				}
				_ = raw.(*net.TCPConn).SetLinger(0)
			case 1: // with an end in order it is told so
				_ = c.(interface{ CloseWrite() error }).CloseWrite()
				_, err = io.Copy(io.Discard, c)
			}
			return err
		})
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 }, "connections are left")
		conntest.Eventually(t, func() bool { return active() == 0 }, "goroutines are left") // they end after their connections
	})
}

func TestARequestsContextEndsWithItsClient(t *testing.T) {
	var ended chan struct{}
	withAndWithoutTLS(t, func() *http.Server {
		ended = make(chan struct{}, 1)
		return &http.Server{Handler: web(ended)}
	}, func(h *httpSide) {
		for range 3 {
			w := h.dial()
			w.send(hello)
			require.Contains(h.T, w.answer("GET"), "hello")
			h.idle()
			w.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
			_, err := http.ReadResponse(w.br, nil)
			require.NoError(h.T, err)
			require.NoError(h.T, w.Close())
			conntest.Receive(h.T, ended)
		}
	})
}

// Whichever limit there is, a client that says too little is told nothing and loses the
// connection, where net/http does so.
func TestSilentClientsLoseTheirConnections(t *testing.T) {
	const short, long = 50 * time.Millisecond, time.Hour
	for name, c := range map[string]struct {
		header, read, idle time.Duration
		first, then        string
	}{
		"new, nothing":               {header: short, idle: long},
		"new, nothing, read":         {read: short, idle: long},
		"new, some of a header":      {header: short, idle: long, first: "GET /he"},
		"idle":                       {idle: short, first: hello},
		"idle by read":               {read: short, first: hello},
		"idle, three bytes":          {idle: short, header: long, first: hello, then: "GET"},
		"idle, only three bytes":     {idle: short, first: hello, then: "GET"},
		"idle, some of a header":     {idle: long, header: short, first: hello, then: "GET /he"},
		"idle, header by read":       {read: short, idle: long, first: hello, then: "GET /he"},
		"idle, half of a body":       {read: short, idle: long, first: hello, then: "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"},
		"idle, then half of a chunk": {read: short, idle: long, first: hello, then: "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"},
	} {
		t.Run(name, func(t *testing.T) {
			var want string
			onHTTP(t, func() *http.Server {
				return &http.Server{Handler: site(), ReadHeaderTimeout: c.header, ReadTimeout: c.read, IdleTimeout: c.idle}
			}, func(h *httpSide) {
				got := h.punctual(short, c.first, c.then)
				if !h.ours {
					want = got
				}
				require.Equal(h.T, want, got)
			})
		})
	}
}

// ConnState gets the states of each connection as from net/http, however often the connection
// passes between the workers and net/http.
func TestConnStateIsToldAsByNetHTTP(t *testing.T) {
	var mu sync.Mutex
	var states map[net.Conn][]string
	var begun []net.Conn // by the order: a later connection may have the address of an earlier one
	var want string
	withAndWithoutTLS(t, func() *http.Server {
		states, begun = map[net.Conn][]string{}, nil
		return &http.Server{Handler: site(), ConnState: func(c net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			if states[c] == nil {
				begun = append(begun, c)
			}
			states[c] = append(states[c], s.String())
		}}
	}, func(h *httpSide) {
		told := func(i int) string {
			mu.Lock()
			defer mu.Unlock()
			if i == len(begun) {
				return ""
			}
			return strings.Join(states[begun[i]], " ")
		}
		var got strings.Builder
		for i, paths := range []string{"", "/hello", "/hello /hello /hello", "/hello /panic", "/hello /upgrade"} {
			w := h.dial()
			conntest.Eventually(h.T, func() bool { return told(i) != "" })
			for path := range strings.FieldsSeq(paths) {
				h.idle()
				w.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
				_ = w.answer("GET")
			}
			h.idle()
			require.NoError(h.T, w.Close())
			conntest.Eventually(h.T, func() bool {
				s := told(i)
				return strings.HasSuffix(s, "closed") || strings.HasSuffix(s, "hijacked")
			})
			fmt.Fprintln(&got, told(i))
		}
		if !h.ours {
			want = got.String()
		}
		require.Equal(h.T, want, got.String())
		mu.Lock()
		defer mu.Unlock()
		require.Len(h.T, states, 5, "a connection is one")
	})
}

// A connection is closed by what ConnState was given.
func TestConnStatesConnectionCanBeClosed(t *testing.T) {
	var idle chan net.Conn
	onOurHTTP(t, func() *http.Server {
		idle = make(chan net.Conn, 1)
		return &http.Server{Handler: site(), ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateIdle {
				idle <- c
			}
		}}
	}, func(h *httpSide) {
		w := h.dial()
		w.send(hello)
		require.Contains(h.T, w.answer("GET"), "hello")
		c := conntest.Receive(h.T, idle)
		h.idle()
		require.Equal(h.T, h.addr, c.LocalAddr().String())
		_, err := c.Write([]byte("x"))
		require.Error(h.T, err)
		require.NoError(h.T, c.Close())
		require.Equal(h.T, `"", end: <nil>`, w.end())
	})
}

func TestShutdownEndsIdleConnectionsAndWaitsForRequests(t *testing.T) {
	var began, release chan struct{}
	var told atomic.Bool
	withAndWithoutTLS(t, func() *http.Server {
		began, release = make(chan struct{}), make(chan struct{})
		told.Store(false)
		mux := http.NewServeMux()
		mux.Handle("/", site())
		mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
			began <- struct{}{}
			<-release
			fmt.Fprint(w, "slow")
		})
		hs := &http.Server{Handler: mux}
		hs.RegisterOnShutdown(func() { told.Store(true) })
		return hs
	}, func(h *httpSide) {
		idle, slow, lingers := h.dial(), h.dial(), h.dial()
		for _, w := range []*httpWire{idle, slow} {
			w.send(hello)
			require.Contains(h.T, w.answer("GET"), "hello")
		}
		h.idle()
		slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		conntest.Receive(h.T, began)
		lingers.send(hello)
		require.Contains(h.T, lingers.answer("GET"), "hello")
		stopped := make(chan error, 1)
		go func() { stopped <- h.stop() }()
		require.Equal(h.T, `"", end: <nil>`, idle.end())
		require.Equal(h.T, `"", end: <nil>`, lingers.end())
		_, err := net.Dial("tcp", h.addr)
		require.Error(h.T, err)
		conntest.Eventually(h.T, told.Load)
		select {
		case err := <-stopped:
			h.Fatal("it has not waited: ", err)
		case <-time.After(10 * time.Millisecond):
		}
		close(release)
		answer := slow.answer("GET")
		require.Contains(h.T, answer, `"slow"`)
		require.Contains(h.T, answer, "close=true")
		require.Equal(h.T, `"", end: <nil>`, slow.end())
		require.NoError(h.T, conntest.Receive(h.T, stopped))
	})
}

// The end of the server's patience ends requests, and their contexts.
func TestShutdownThatGivesUpResetsRequests(t *testing.T) {
	ended := make(chan struct{}, 1)
	onOurHTTP(t, func() *http.Server { return &http.Server{Handler: web(ended)} }, func(h *httpSide) {
		w := h.dial()
		w.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
		_, err := http.ReadResponse(w.br, nil)
		require.NoError(h.T, err)
		ctx, cancel := context.WithTimeout(h.Context(), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(h.T, h.s.Shutdown(ctx), context.DeadlineExceeded)
		conntest.Receive(h.T, ended)
	})
}

func TestShutdownWhileClientsAskLosesNoAnswerThatWasBegun(t *testing.T) {
	onOurHTTP(t, func() *http.Server { return &http.Server{Handler: site()} }, func(h *httpSide) {
		var all sync.WaitGroup
		var answered atomic.Int64
		for range 20 {
			w := h.dial()
			all.Go(func() {
				for ; ; answered.Add(1) {
					if _, err := io.WriteString(w, hello); err != nil {
						return
					}
					r, err := http.ReadResponse(w.br, nil)
					if err != nil {
						if !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "reset") {
							h.Error(err)
						}
						return
					}
					p, err := io.ReadAll(r.Body)
					if err != nil || string(p) != "hello" {
						h.Errorf("%q %v", p, err)
						return
					}
				}
			})
		}
		conntest.Eventually(h.T, func() bool { return answered.Load() > 200 || h.Failed() })
		require.NoError(h.T, h.stop())
		all.Wait()
	})
}

// HTTP/2 without TLS, from clients that know of it, is served by net/http as ever.
func TestUnencryptedHTTP2(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	onHTTP(t, func() *http.Server { return &http.Server{Handler: site(), Protocols: protocols} }, func(h *httpSide) {
		only2 := new(http.Protocols)
		only2.SetUnencryptedHTTP2(true)
		tr := &http.Transport{Protocols: only2}
		defer tr.CloseIdleConnections()
		client := &http.Client{Transport: tr, Timeout: conntest.Patience}
		for range 5 {
			for _, size := range []int{0, 4096, 100_000} { // 4096 is the size of net/http's buffer
				body := strings.Repeat("x", size)
				r, err := client.Post("http://"+h.addr+"/echo", "text/plain", strings.NewReader(body))
				require.NoError(h.T, err)
				p, err := io.ReadAll(r.Body)
				require.NoError(h.T, err)
				require.NoError(h.T, r.Body.Close())
				require.Equal(h.T, 2, r.ProtoMajor)
				require.Equal(h.T, body+" <nil> map[] POST", string(p))
			}
			time.Sleep(5 * httpLinger) // not for anything to happen: it is idle, and remains net/http's
		}
		w := h.dial()
		for range 3 { // beside HTTP/1
			w.send(hello)
			require.Contains(h.T, w.answer("GET"), "HTTP/1.1 200")
		}
		require.NoError(h.T, w.Close())
	})
}
