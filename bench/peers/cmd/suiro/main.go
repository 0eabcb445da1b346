// Command suiro is the raw handler on Suiro, written as its API invites: one Write per answer.
package main

import (
	"errors"
	"flag"
	"log"
	"net"

	"github.com/suiro-go/suiro/server"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

type handler struct {
	server.Base
	step plain.Step
}

var errBadRequest = errors.New("bad request")

func (h *handler) OnData(c *server.Conn) error {
	in, _ := c.Peek(-1)
	used := 0
	for used < len(in) {
		answer, n, ok := h.step(in[used:])
		if !ok {
			return errBadRequest
		}
		if n == 0 {
			break
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
		used += n
	}
	_, err := c.Discard(used)
	return err
}

func main() {
	backend := flag.String("backend", "", "io_uring or epoll")
	o := peer.Parse()
	s := &server.Server{
		Addr:      o.Addr,
		Handler:   &handler{step: o.Step},
		Backend:   *backend,
		Workers:   peer.Loops(),
		Listening: func(addr net.Addr) { peer.Ready(addr.String()) },
	}
	go func() { log.Fatal(s.ListenAndServe()) }()
	peer.Wait()
}
