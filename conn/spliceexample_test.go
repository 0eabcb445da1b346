package conn_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// forward is the handler of a proxy: it splices each connection with one to origin.
type forward struct {
	conn.Base
	origin net.Addr
}

func (f forward) OnOpen(c *conn.Conn) error {
	b, err := c.Dial(f.origin, dialedEnd{})
	if err != nil {
		return err
	}
	_, err = conn.Splice(c, b, func(s *conn.Spliced) {
		there, back := s.Bytes()
		fmt.Println(there, "bytes there,", back, "back")
	})
	return err
}

func (forward) OnData(*conn.Conn) error { return nil } // not called once it is spliced

type dialedEnd struct{ conn.Base }

func (dialedEnd) OnData(*conn.Conn) error { return nil }

func ExampleSplice() {
	origin, _ := net.Listen("tcp", "127.0.0.1:0")
	defer origin.Close()
	go func() { // it answers every request
		c, err := origin.Accept()
		if err != nil {
			return
		}
		question, _ := io.ReadAll(c)
		_, _ = fmt.Fprintf(c, "%s? 42", question)
		_ = c.Close()
	}()

	g, _ := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	defer ln.Close()
	l, _ := g.Listen(ln, forward{origin: origin.Addr()})

	c, _ := net.Dial("tcp", l.Addr().String())
	_, _ = io.WriteString(c, "six times seven")
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	fmt.Println(string(answer))
	_ = c.Close()

	_ = l.Close()
	_ = g.Wait(context.Background())
	_ = g.Close()
	// Unordered output:
	// six times seven? 42
	// 15 bytes there, 19 back
}
