// Echo sends back what it receives.
//
//	go run ./examples/echo -addr 127.0.0.1:9000 [-backend io_uring|epoll] [-workers N]
package main

import (
	"flag"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/examples/internal/app"
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
	app.Main("echo", s)
}
