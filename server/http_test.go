package server_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

const hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"

// site is a handler of all that net/http offers.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		p, err := io.ReadAll(r.Body)
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			err = errors.New("too late") // without ports
		}
		fmt.Fprintf(w, "%s %v %v %v", p, err, r.Trailer, r.Method)
	})
	mux.HandleFunc("/ignore", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ignored") })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("on purpose") })
	mux.HandleFunc("/abort", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "some")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "short")
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Sum")
		for i := range 3 {
			fmt.Fprintln(w, "part", i)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Sum", "3")
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "hinted")
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("large ", 200_000)) })
	mux.HandleFunc("/limit", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 10))
		http.Error(w, fmt.Sprint(err), http.StatusRequestEntityTooLarge)
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		_, err := io.ReadAll(r.Body)
		var ne net.Error
		fmt.Fprint(w, errors.As(err, &ne) && ne.Timeout())
	})
	mux.HandleFunc("/duplex", func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		fmt.Fprint(w, rc.EnableFullDuplex())
		_ = rc.Flush()
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("/upgrade", func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		go func() { // it outlives the handler
			defer c.Close()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_ = rw.Flush()
			_, _ = io.Copy(c, rw)
		}()
	})
	return mux
}

// TestAnswersAreThoseOfNetHTTP has the same bytes answered by net/http over package net
// and by ours, on a new connection and on one that was idle.
func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	post := func(path, more, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, more, len(body), body)
	}
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	chunked := "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nT: t\r\n\r\n"
	cases := map[string]struct {
		methods string // of the answers that are wanted
		send    string
		over    bool // then the server ends it
	}{
		"get":                        {"GET", get("/hello"), false},
		"pipeline":                   {"GET GET POST GET GET", get("/hello") + get("/large") + post("/echo", "", "abc") + get("/stream") + get("/hello"), false},
		"pipeline, over":             {"GET GET", get("/hello") + "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + get("/hello"), true},
		"head":                       {"HEAD GET", "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" + get("/empty"), false},
		"post":                       {"POST", post("/echo", "", "body"), false},
		"post and an empty line":     {"POST GET", post("/echo", "", "body") + "\r\n" + get("/hello"), false},
		"chunked":                    {"POST GET", chunked + get("/hello"), false},
		"chunked answer":             {"GET GET", get("/stream") + get("/hello"), false},
		"early hints":                {"GET GET", get("/hints"), false},
		"expect an unknown":          {"POST", post("/echo", "Expect: 200-ok\r\n", "body"), true},
		"body unread, small":         {"POST GET", post("/ignore", "", strings.Repeat("x", 10_000)) + get("/hello"), false},
		"body unread, large":         {"POST", post("/ignore", "", strings.Repeat("x", 600_000)), true},
		"body too large":             {"POST", post("/limit", "", strings.Repeat("x", 100)), true},
		"HTTP/1.0":                   {"GET", "GET /hello HTTP/1.0\r\n\r\n", true},
		"HTTP/1.0, kept alive":       {"GET GET", "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get("/hello"), false},
		"HTTP/1.0, stream":           {"GET", "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
		"close":                      {"GET", "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", true},
		"no host":                    {"GET", "GET /hello HTTP/1.1\r\n\r\n", true},
		"nonsense":                   {"GET", "nonsense\r\n\r\n", true},
		"header too large":           {"GET", "GET /hello HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 20_000), true},
		"header just small enough":   {"GET", "GET /hello HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 6_000) + "\r\n\r\n", false},
		"transfer coding":            {"POST", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: what\r\n\r\n", true},
		"HTTP/3":                     {"GET", "GET /hello HTTP/3.0\r\nHost: x\r\n\r\n", true},
		"HTTP/2 where it is not":     {"GET", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true},
		"panic":                      {"GET", get("/panic"), true},
		"abort":                      {"GET", get("/abort"), true},
		"less than it said":          {"GET", get("/short"), true},
		"a read that is too late":    {"POST", "POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", true},
		"both ways":                  {"POST GET", post("/duplex", "", "there and back") + get("/hello"), false},
		"not found":                  {"GET", get("/nowhere"), false},
		"options":                    {"OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", false},
		"upgrade with bytes ahead":   {"GET", get("/upgrade"), false},
		"expect 100, body sent soon": {"POST", post("/echo", "Expect: 100-continue\r\n", "body"), false},
	}
	type variant struct {
		name string
		slow bool
		warm bool // it was idle before
		shut bool // the client says that it says no more
	}
	variants := []variant{{name: "new"}, {name: "idle", warm: true}, {name: "slow", slow: true}, {name: "idle, slow", slow: true, warm: true},
		{name: "half closed", shut: true}, {name: "idle, half closed", shut: true, warm: true}}
	want := map[string]string{}
	withAndWithoutTLS(t, func() *http.Server { return &http.Server{Handler: site(), MaxHeaderBytes: 4096} }, func(h *httpSide) {
		ask := func(name string, v variant, w *httpWire) {
			c := cases[name]
			require.NoError(h.T, w.SetDeadline(time.Now().Add(conntest.Patience))) // it may be long since it was dialed
			switch {
			case v.slow:
				w.slowly(c.send)
			case c.over:
				_, _ = io.WriteString(w, c.send) // the server may have ended it, as it may others of these
			default:
				w.send(c.send)
			}
			if v.shut {
				w.shut()
			}
			var got strings.Builder
			for _, method := range strings.Fields(c.methods) {
				fmt.Fprintln(&got, w.answer(method))
			}
			switch {
			case strings.HasPrefix(name, "upgrade"):
				if !v.shut {
					h.idle()
					w.send("and more")
					p := make([]byte, 8)
					_, err := io.ReadFull(w.br, p)
					fmt.Fprintf(&got, "%q %v", p, err)
				}
			case c.over || v.shut:
				fmt.Fprint(&got, w.end())
			default: // it can be used
				for range 2 {
					h.idle()
					w.send(hello)
					fmt.Fprintln(&got, w.answer("GET"))
				}
			}
			_ = w.Close()
			name += ", " + v.name
			if !h.ours {
				want[name] = got.String()
			} else if want[name] != got.String() {
				h.Errorf("%s:\nnet/http answers\n%s\nours\n%s", name, want[name], got.String())
			}
		}
		begin := func(name string, v variant) *httpWire {
			w := h.dial()
			if v.warm {
				w.send(hello)
				require.Contains(h.T, w.answer("GET"), "hello", name)
			}
			return w
		}
		var overs []func()
		for name, c := range cases {
			for _, v := range variants {
				switch {
				case v.slow && (c.over || len(c.send) > 500): // one that ends it early may reset it, and lose the answer
				case h.tls != nil && (v.slow || v.warm && v.shut): // two of either are enough
				case !c.over:
					w := begin(name, v)
					if v.warm {
						h.idle()
					}
					ask(name, v, w)
				case v.warm:
					w := begin(name, v)
					overs = append(overs, func() { ask(name, v, w) })
				default:
					overs = append(overs, func() { ask(name, v, h.dial()) })
				}
			}
		}
		// After many of these answers net/http keeps its goroutine for half a second, which idle
		// would await.
		h.idle()
		for _, ask := range overs {
			ask()
		}
	})
}

// A client that expects 100 Continue waits for that before it sends the body.
func TestContinueIsSentWhenTheBodyIsWanted(t *testing.T) {
	onHTTP(t, func() *http.Server { return &http.Server{Handler: site()} }, func(h *httpSide) {
		w := h.dial()
		for range 3 {
			w.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
			require.Contains(h.T, w.answer("POST"), "100 Continue")
			time.Sleep(5 * httpLinger) // not for anything to happen: it is not idle
			w.slowly("body")
			require.Contains(h.T, w.answer("POST"), `"body <nil> map[] POST"`)
			h.idle()
		}
		w.send("POST /ignore HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
		require.Contains(h.T, w.answer("POST"), "close=true")
		w.send("body") // net/http wants it all the same
		require.Equal(h.T, `"", end: <nil>`, w.end())
	})
}
