// Redis is a server that speaks Redis' protocol and knows some of its commands.
//
//	go run ./examples/redis -addr 127.0.0.1:6380 [-backend io_uring|epoll] [-workers N]
package main

import (
	"flag"
	"fmt"
	"net"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/examples/redis/kv"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func main() {
	store, next := kv.New(), 0
	s := &server.Server{
		Handler: server.Sequential(func(cx *sched.Context, s *server.Stream) error { return serve(cx, s, store) }),
		Tickers: []server.Ticker{{Every: 100 * time.Millisecond, Do: func(*sched.Context) {
			store.Sweep(next)
			next++
		}}},
		Conn:      conn.Config{MaxRead: kv.MaxCommand}, // serve waits for a command as a whole
		Listening: func(addr net.Addr) { fmt.Println("listening on", addr) },
	}
	flag.StringVar(&s.Addr, "addr", "127.0.0.1:6380", "`host:port` to listen on, port 0 being any free one")
	flag.StringVar(&s.Backend, "backend", "", "io_uring or epoll (default: epoll)")
	flag.IntVar(&s.Workers, "workers", 0, "number of workers (default: one per processor)")
	flag.Parse()
	app.Main("redis", s)
}
