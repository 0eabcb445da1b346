package main

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

// suiroHandler is examples/echo.
type suiroHandler struct {
	server.Base
	service service
}

func (h *suiroHandler) OnData(c *server.Conn) error {
	if h.service.keys != nil {
		return h.service.suiroRedis(c)
	}
	p, _ := c.Next(-1)
	return h.service.answer(p, c.Write)
}

// stream is examples/echo -sequential: it has no buffer of its own.
func (s service) stream(_ *sched.Context, c *server.Stream) error {
	for {
		p, err := c.Next(-1)
		if err == nil {
			err = s.answer(p, c.Write)
		}
		if err != nil {
			return nil //nolint:nilerr // the client has finished
		}
	}
}

// buffered is the same with a buffer that each connection keeps while it waits, as most code on
// package net does.
func (s *service) buffered(_ *sched.Context, c *server.Stream) error {
	p := make([]byte, 4<<10)
	for {
		n, err := c.Read(p)
		if err == nil {
			err = s.answer(p[:n], c.Write)
		}
		if err != nil {
			return nil //nolint:nilerr // the client has finished
		}
	}
}

// deferred is how long clients that speak first may stay silent.
const deferred = 5 * time.Second

func (s service) deferring() service {
	s.deferred = true
	return s
}

// coalesced is the longest delay of a wake-up: some eight events of churn.
const coalesced = 100 * time.Microsecond

func (s service) coalescing() service {
	s.coalesced = true
	return s
}

func (s service) serveSuiro(h server.Handler, backend string) error {
	srv := &server.Server{
		Addr:      "127.0.0.1:0",
		Handler:   h,
		Backend:   backend,
		Workers:   peer.Loops(),
		Listening: func(addr net.Addr) { peer.Ready(addr.String()) },
	}
	if s.deferred {
		srv.DeferAccept = deferred
	}
	if s.coalesced {
		srv.Tuning.Coalesce = coalesced
	}
	if s.udp {
		srv.Handler, srv.Packets, srv.Network = nil, packets{}, "udp4"
	}
	if s.tls {
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate()}}
	}
	if _, own := h.(*h1Handler); s.http && !own {
		srv.Handler, srv.Workers = server.HTTP(httpHandler()), 0 // as many as a user gets
	}
	return srv.ListenAndServe()
}

type packets struct{ server.PacketBase }

func (packets) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}
