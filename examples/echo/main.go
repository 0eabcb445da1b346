// Echo sends back what it receives.
//
//	go run ./examples/echo -addr 127.0.0.1:9000 [-backend io_uring|epoll] [-workers N]
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

type echo struct{ server.Base }

func (echo) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	_, err := c.Write(p)
	return err
}

func main() {
	s := &server.Server{
		Handler:   echo{},
		Listening: func(addr net.Addr) { fmt.Println("listening on", addr) },
	}
	flag.StringVar(&s.Addr, "addr", "127.0.0.1:9000", "`host:port` to listen on; port 0 is any free one")
	flag.StringVar(&s.Backend, "backend", "", "io_uring or epoll (default: the best that starts)")
	flag.IntVar(&s.Workers, "workers", 0, "number of workers (default: one per processor)")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
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
