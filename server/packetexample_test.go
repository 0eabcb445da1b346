package server_test

import (
	"bytes"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/server"
)

// A goroutine receives datagrams from any peer and answers.
func ExampleListenPacket() {
	p, err := server.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return // the socket is closed
			}
			_, _ = p.WriteTo(bytes.ToUpper(buf[:n]), from)
		}
	}()

	c, err := net.Dial("udp", p.LocalAddr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Fprint(c, "hello")
	buf := make([]byte, 1500)
	n, err := c.Read(buf)
	fmt.Println(string(buf[:n]), err)
	// Output: HELLO <nil>
}
