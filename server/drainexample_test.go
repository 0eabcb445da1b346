package server_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A task waits for a request or the shutdown of its server, whichever is first.
func ExampleStream_Draining() {
	s := &server.Server{}
	l, err := s.ListenStream("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	sched.Go(s.Group().Runtime(), func(cx *sched.Context) (int, error) {
		c, err := l.Accept(cx)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		for {
			first, err := sched.Await(cx, sched.SelectBiased(c.Draining(), c.Readable()))
			if err != nil {
				return 0, err
			}
			if first.Index == 0 {
				return io.WriteString(c, "goodbye")
			}
			p, err := c.Next(-1)
			if err != nil {
				return 0, err
			}
			if _, err := c.Write(p); err != nil {
				return 0, err
			}
		}
	}).Detach()

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "hello")
	p := make([]byte, 5)
	_, _ = io.ReadFull(c, p)
	fmt.Println(string(p))

	over := make(chan error, 1)
	go func() { over <- s.Shutdown(context.Background()) }()
	rest, _ := io.ReadAll(c)
	fmt.Println(string(rest))
	_ = c.Close()
	fmt.Println(<-over)
	// Output:
	// hello
	// goodbye
	// <nil>
}
