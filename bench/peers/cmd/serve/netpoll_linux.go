package main

import (
	"context"
	"log"

	"github.com/cloudwego/netpoll"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

func serveNetpoll(s service) error {
	ln, err := netpoll.CreateListener("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	loop, err := netpoll.NewEventLoop(func(_ context.Context, c netpoll.Connection) error {
		r, w := c.Reader(), c.Writer()
		defer r.Release()
		p, err := r.Next(r.Len())
		if err != nil {
			return err
		}
		if err := s.answer(p, w.WriteBinary); err != nil { // no copy of more than 4 KiB
			return err
		}
		return w.Flush()
	})
	if err != nil {
		log.Fatal(err)
	}
	peer.Ready(ln.Addr().String())
	return loop.Serve(ln)
}
