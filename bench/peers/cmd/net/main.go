// Command net is the raw handler on package net: a goroutine per connection, one Write per Read.
package main

import (
	"net"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

func main() {
	o := peer.Parse()
	ln := peer.Listen(o.Addr)
	peer.Serve(ln.Addr().String(), func() error {
		for {
			c, err := ln.Accept()
			if err != nil {
				return err
			}
			go serve(c, o.Step)
		}
	})
}

func serve(c net.Conn, step plain.Step) {
	defer c.Close()
	var carry plain.Carry
	var out []byte
	in := make([]byte, 4<<10)
	for {
		n, err := c.Read(in)
		if err != nil {
			return
		}
		var ok bool
		if out, ok = carry.All(step, out[:0], in[:n]); !ok {
			return
		}
		if len(out) == 0 {
			continue
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}
