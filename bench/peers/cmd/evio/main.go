// Command evio is the raw handler on tidwall/evio.
package main

import (
	"log"

	"github.com/tidwall/evio"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

type session struct {
	carry plain.Carry
	out   []byte
}

func main() {
	o := peer.Parse()
	var events evio.Events
	events.NumLoops = peer.Loops()
	events.Serving = func(s evio.Server) evio.Action {
		peer.Ready(s.Addrs[0].String())
		return evio.None
	}
	events.Opened = func(c evio.Conn) ([]byte, evio.Options, evio.Action) {
		c.SetContext(new(session))
		return nil, evio.Options{ReuseInputBuffer: true}, evio.None
	}
	events.Data = func(c evio.Conn, in []byte) ([]byte, evio.Action) {
		s := c.Context().(*session)
		var ok bool
		if s.out, ok = s.carry.All(o.Step, s.out[:0], in); !ok {
			return nil, evio.Close
		}
		return s.out, evio.None // evio copies it
	}
	go func() { log.Fatal(evio.Serve(events, "tcp://"+o.Addr)) }()
	peer.Wait()
}
