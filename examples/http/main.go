// Http is an HTTP/1.1 server on Suiro.
//
//	go run ./examples/http -addr 127.0.0.1:8080 [-backend io_uring|epoll] [-workers N]
//		[-admin 127.0.0.1:9090]
//
// GET /plaintext answers with a text, /json with an object, and / with a page about
// the server. Every other path echoes the request's body.
package main

import (
	"flag"
	"fmt"
	"net"
	"time"

	"github.com/suiro-go/suiro/examples/internal/app"
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
	app.AdminFlag()
	flag.Parse()
	s.Listening = func(addr net.Addr) {
		h.describe(s.Group())
		fmt.Println("listening on", addr)
	}
	app.Main("http", s)
}
