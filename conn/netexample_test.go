package conn_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// A goroutine for each connection, the descriptors on the group's workers.
func ExampleGroup_ListenSocket() {
	// Unlocked: the workers do little but wake goroutines.
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1, Unlocked: true})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l, err := g.ListenSocket(conn.SocketListenerConfig{}, ln)
	if err != nil {
		panic(err)
	}
	_ = ln.Close() // the group has a descriptor of its own
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()

	c, err := g.DialSocketContext(context.Background(), l.Addr())
	if err != nil {
		panic(err)
	}
	fmt.Fprint(c, "hello")
	_ = c.CloseWrite()
	p, err := io.ReadAll(c)
	fmt.Println(string(p), err)
	_ = c.Close()
	_ = l.Close()
	_ = g.Wait(context.Background())
	// Output: hello <nil>
}
