// Package app is what the examples' main functions share.
package app

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"

	"github.com/suiro-go/suiro/server"
)

// Flags registers the flags that servers with sequential functions share. The server prints its
// address when it listens.
func Flags(s *server.Server, addr string) {
	flag.StringVar(&s.Addr, "addr", addr, "`host:port` to listen on, port 0 being any free one")
	flag.StringVar(&s.Backend, "backend", "", "io_uring or epoll (default: epoll)")
	flag.IntVar(&s.Workers, "workers", 0, "number of workers (default: one per processor)")
	s.Listening = func(addr net.Addr) { fmt.Println("listening on", addr) }
}

// Main runs the server until a signal ends it. An error is one line on the standard error, and the
// exit code 1.
func Main(name string, s *server.Server) {
	end, err := serveAdmin(s)
	if err == nil {
		err = server.Run(context.Background(), s)
		end() // after the server, so that /readyz says that it drains
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
