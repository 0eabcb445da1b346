package main

import (
	"github.com/lesismal/nbio"
	"github.com/lesismal/nbio/logging"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

func serveNbio(s service) error {
	logging.SetLevel(logging.LevelError)
	engine := nbio.NewEngine(nbio.Config{Network: "tcp", Addrs: []string{"127.0.0.1:0"}, NPoller: peer.Loops()})
	engine.OnData(func(c *nbio.Conn, in []byte) {
		if s.answer(in, c.Write) != nil { // it copies what the socket does not take
			c.Close()
		}
	})
	if err := engine.Start(); err != nil {
		return err
	}
	peer.Ready(engine.Addrs[0])
	select {}
}
