package main

import (
	"net"

	"github.com/suiro-go/suiro/conn"
)

// listenStreams splices each connection to addr with one to the origin.
func listenStreams(g *conn.Group, network, addr, toNetwork, to string) (net.Addr, func(), error) {
	origin, err := streamAddr(toNetwork, to)
	if err != nil {
		return nil, nil, err
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		return nil, nil, err
	}
	l, err := g.Listen(ln, &accepted{origin: origin})
	if err != nil {
		_ = ln.Close()
		return nil, nil, err
	}
	return l.Addr(), func() {
		_ = l.Close()
		_ = ln.Close() // removes the path of a Unix socket
	}, nil
}

func streamAddr(network, addr string) (net.Addr, error) {
	if network == "unix" {
		return net.ResolveUnixAddr(network, addr)
	}
	return net.ResolveTCPAddr(network, addr)
}

// accepted is the handler of accepted connections. It splices at once: received bytes wait while
// the other connection is being established.
type accepted struct {
	conn.Base
	origin net.Addr
}

func (h *accepted) OnOpen(c *conn.Conn) error {
	b, err := c.Dial(h.origin, dialed{})
	if err == nil {
		_, err = conn.Splice(c, b, nil)
	}
	return err
}

func (h *accepted) OnData(*conn.Conn) error { return nil }

type dialed struct{ conn.Base }

func (dialed) OnData(*conn.Conn) error { return nil }
