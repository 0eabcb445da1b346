// Command nbio is the raw handler on lesismal/nbio.
package main

import (
	"log"

	"github.com/lesismal/nbio"
	"github.com/lesismal/nbio/logging"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

type session struct {
	carry plain.Carry
	out   []byte
}

func main() {
	o := peer.Parse()
	logging.SetLevel(logging.LevelError)
	engine := nbio.NewEngine(nbio.Config{Network: "tcp", Addrs: []string{o.Addr}, NPoller: peer.Loops()})
	engine.OnOpen(func(c *nbio.Conn) { c.SetSession(new(session)) })
	engine.OnData(func(c *nbio.Conn, in []byte) {
		s := c.Session().(*session)
		var ok bool
		if s.out, ok = s.carry.All(o.Step, s.out[:0], in); !ok {
			c.Close()
			return
		}
		if len(s.out) > 0 {
			c.Write(s.out) // nbio copies what the socket does not take, and closes on errors
		}
	})
	if err := engine.Start(); err != nil {
		log.Fatal(err)
	}
	peer.Ready(engine.Addrs[0])
	peer.Wait()
}
