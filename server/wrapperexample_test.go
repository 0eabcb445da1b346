package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A watch counts, times and logs the work of handlers of all kinds.
type watch struct {
	count atomic.Int64
	log   *slog.Logger
}

func (w *watch) ended(kind string, began time.Time, err error) {
	w.log.Info("handled", "kind", kind, "number", w.count.Add(1), "took", time.Since(began), "error", err)
}

// A watched is a middleware for callbacks: it times each call of OnData. The other callbacks can be
// timed in the same way.
type watched struct {
	server.Handler
	*watch
}

// Unwrap lets the server find the settings that the handler needs.
func (h watched) Unwrap() server.Handler { return h.Handler }

func (h watched) OnData(c *server.Conn) error {
	began := time.Now()
	err := h.Handler.OnData(c)
	h.ended("OnData", began, err)
	return err
}

// sequential is a middleware for sequential functions: it times each connection, with its waits.
func (w *watch) sequential(fn func(*sched.Context, *server.Stream) error) func(*sched.Context, *server.Stream) error {
	return func(cx *sched.Context, s *server.Stream) error {
		began := time.Now()
		err := fn(cx, s)
		w.ended("connection", began, err)
		return err
	}
}

// http is a middleware for HTTP, as for package net/http: it times each request.
func (w *watch) http(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(rw, r)
		w.ended("request", began, nil)
	})
}

// A helloer answers by callbacks, greet does so in sequential code, and helloPage over HTTP.
type helloer struct{ server.Base }

func (helloer) OnData(c *server.Conn) error {
	_, _ = c.Next(-1)
	_, err := c.WriteString("hello")
	return err
}

func greet(_ *sched.Context, s *server.Stream) error {
	if _, err := s.Next(-1); err != nil {
		return err
	}
	_, err := io.WriteString(s, "hello")
	return err
}

func helloPage(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// A Wrapper is the middleware for callbacks. Other kinds of handlers have others.
func ExampleWrapper() {
	w := &watch{log: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" { // differs from run to run
				return slog.Attr{}
			}
			return a
		},
	}))}
	for _, h := range []server.Handler{
		watched{helloer{}, w},
		server.Sequential(w.sequential(greet)),
		server.HTTP(w.http(http.HandlerFunc(helloPage))),
	} {
		addr := make(chan net.Addr, 1)
		s := &server.Server{Addr: "127.0.0.1:0", Handler: h, Listening: func(a net.Addr) { addr <- a }}
		go func() { _ = s.ListenAndServe() }()
		if err := askOnce((<-addr).String()); err != nil {
			fmt.Println(err)
		}
		_ = s.Close()
	}
	// Output:
	// level=INFO msg=handled kind=OnData number=1 error=<nil>
	// level=INFO msg=handled kind=connection number=2 error=<nil>
	// level=INFO msg=handled kind=request number=3 error=<nil>
}

// askOnce sends a request of HTTP and waits for an answer of any kind.
func askOnce(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}
