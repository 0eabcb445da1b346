package main

import (
	"github.com/panjf2000/gnet/v2"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

type gnetHandler struct {
	gnet.BuiltinEventEngine
	service service
	addr    string
}

func (h *gnetHandler) OnBoot(gnet.Engine) gnet.Action {
	peer.Ready(h.addr)
	return gnet.None
}

func (h *gnetHandler) OnTraffic(c gnet.Conn) gnet.Action {
	if h.service.keys != nil {
		return h.service.gnetRedis(c)
	}
	p, err := c.Next(-1)
	if err != nil || h.service.answer(p, c.Write) != nil {
		return gnet.Close
	}
	return gnet.None
}

func serveGnet(s service) error { return runGnet(s, false) }

func serveGnetEdgeTriggered(s service) error { return runGnet(s, true) }

// runGnet picks the port first: gnet tells only the one it was given.
func runGnet(s service, edgeTriggered bool) error {
	ln := peer.Listen("127.0.0.1:0")
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return err
	}
	return gnet.Run(&gnetHandler{service: s, addr: addr}, "tcp://"+addr,
		gnet.WithMulticore(peer.Loops() > 1), gnet.WithNumEventLoop(peer.Loops()), gnet.WithEdgeTriggeredIO(edgeTriggered))
}
