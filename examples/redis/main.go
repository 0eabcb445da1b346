// Redis is a server that speaks Redis' protocol and knows some of its commands.
//
//	go run ./examples/redis -addr 127.0.0.1:6380 [-backend io_uring|epoll] [-workers N]
package main

import (
	"flag"
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
		ConnConfig: conn.Config{MaxRead: kv.MaxCommand}, // serve waits for a command as a whole
	}
	app.Flags(s, "127.0.0.1:6380")
	flag.Parse()
	app.Main("redis", s)
}
