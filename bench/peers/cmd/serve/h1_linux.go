package main

import (
	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/server"

	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

// h1Handler is, for HTTP, callbacks that parse requests as examples/http does.
type h1Handler struct{ suiroHandler }

type h1Session struct {
	parser  h1.Parser
	request h1.Request
}

var h1Limits h1.Limits

func (h *h1Handler) OnOpen(c *server.Conn) error {
	if h.service.http {
		s := &h1Session{}
		s.parser.Limits = &h1Limits
		c.SetValue(s)
	}
	return nil
}

func (h *h1Handler) OnData(c *server.Conn) error {
	s, ok := c.Value().(*h1Session)
	if !ok {
		return h.suiroHandler.OnData(c)
	}
	for {
		p, _ := c.Peek(-1)
		n, err := s.parser.ParseHead(p, &s.request)
		if n == 0 || err != nil {
			return err
		}
		reply := plain.Fixed
		if string(s.request.Path) != "/plaintext" || s.request.HasBody() {
			reply = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		}
		if _, err := c.WriteString(reply); err != nil {
			return err
		}
		_, _ = c.Discard(n)
	}
}
