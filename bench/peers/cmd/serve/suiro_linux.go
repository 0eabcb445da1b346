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
	p, _ := c.Next(-1)
	return h.service.answer(p, c.Write)
}

// stream is examples/echo -sequential.
func (s service) stream(_ *sched.Context, c *server.Stream) error {
	s.loop(c)
	return nil
}

// deferred is how long those clients may stay silent of whom it is known that they speak first.
const deferred = 5 * time.Second

func (s service) deferring() service {
	s.deferred = true
	return s
}

// coalesced is how long what comes may gather: some eight events of churn.
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
		srv.Coalesce = coalesced
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
