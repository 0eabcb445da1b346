package main

import (
	"github.com/tidwall/evio"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

func serveEvio(s service) error {
	var events evio.Events
	events.NumLoops = peer.Loops()
	events.Serving = func(srv evio.Server) evio.Action {
		peer.Ready(srv.Addrs[0].String())
		return evio.None
	}
	events.Opened = func(evio.Conn) ([]byte, evio.Options, evio.Action) {
		return nil, evio.Options{ReuseInputBuffer: true}, evio.None
	}
	events.Data = func(c evio.Conn, in []byte) (out []byte, action evio.Action) {
		switch {
		case s.http:
			return []byte(plain.Fixed), evio.None
		case s.chunks == nil:
			s.linger(in)
			return in, evio.None // evio copies it
		}
		if len(in) == 1 {
			return s.chunks.Chunk(in[0]), evio.None
		}
		for _, request := range in {
			out = append(out, s.chunks.Chunk(request)...)
		}
		return out, evio.None
	}
	return evio.Serve(events, "tcp://127.0.0.1:0")
}
