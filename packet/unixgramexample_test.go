//go:build unix

package packet_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A task answers Unix datagrams. The peer has a name of its own, to which the answer goes.
func ExampleListenUnixgram() {
	dir, err := os.MkdirTemp("", "suiro")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	pc, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "server"), Net: "unixgram"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pc.Close() // removes the path
	s, err := packet.ListenUnixgram(g, pc)
	if err != nil {
		fmt.Println(err)
		return
	}
	sched.Go(g.Runtime(), func(cx *sched.Context) (struct{}, error) {
		p := make([]byte, 100)
		n, from, err := s.RecvFrom(cx, p)
		if err == nil {
			err = s.SendTo(cx, append([]byte("you said "), p[:n]...), from)
		}
		return struct{}{}, err
	}).Detach()

	h := sched.Go(g.Runtime(), func(cx *sched.Context) (string, error) {
		c, err := packet.DialUnixgram(g, filepath.Join(dir, "client"), s.LocalAddr())
		if err != nil {
			return "", err
		}
		defer c.Close()
		if err := c.Send(cx, []byte("hello")); err != nil {
			return "", err
		}
		p := make([]byte, 100)
		n, err := c.Recv(cx, p)
		return string(p[:n]), err
	})
	fmt.Println(h.Wait(context.Background()))
	_ = s.Close()
	_ = g.Wait(context.Background())
	// Output: you said hello <nil>
}
