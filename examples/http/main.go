// Http is an HTTP/1.1 server on Suiro.
//
//	go run ./examples/http -addr 127.0.0.1:8080 [-backend io_uring|epoll] [-workers N]
//
// GET /plaintext and /json answer what their names say, / is a page that tells
// what runs, and every other path echoes the request's body.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/server"
)

func main() {
	h := newHandler()
	s := &server.Server{Handler: h}
	flag.StringVar(&s.Addr, "addr", "127.0.0.1:8080", "`host:port` to listen on; port 0 is any free one")
	flag.StringVar(&s.Backend, "backend", "", "io_uring or epoll (default: the best that starts)")
	flag.IntVar(&s.Workers, "workers", 0, "number of workers (default: one per processor)")
	flag.IntVar(&h.limits.Line, "max-line", 0, "longest request line in `bytes` (default 8 KiB)")
	flag.IntVar(&h.limits.Header, "max-header", 0, "largest header block in `bytes` (default 64 KiB)")
	flag.Int64Var(&h.limits.Body, "max-body", 8<<20, "largest body in `bytes`")
	flag.DurationVar(&h.timeouts.header, "header-timeout", 10*time.Second, "how long a request's head may take")
	flag.DurationVar(&h.timeouts.body, "body-timeout", 30*time.Second, "how long a pause in a body may be")
	flag.DurationVar(&h.timeouts.idle, "idle-timeout", 60*time.Second, "how long a connection may idle between requests")
	flag.Parse()
	s.Listening = func(addr net.Addr) {
		h.describe(s.Group())
		fmt.Println("listening on", addr)
	}
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

// run serves until SIGINT or SIGTERM, then gives connections ten seconds: twice
// what the server waits for a peer that does not close its end.
func run(s *server.Server) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.Shutdown(ctx)
	if serr := <-served; !errors.Is(serr, server.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
