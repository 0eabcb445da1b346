package server_test

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// capitals answers each datagram until the socket is closed.
func capitals(s *server.UDPSocket) func(cx *sched.Context) (struct{}, error) {
	return func(cx *sched.Context) (struct{}, error) {
		p := make([]byte, 1500)
		for {
			n, from, err := s.RecvFrom(cx, p)
			if err == nil {
				err = s.SendTo(cx, bytes.ToUpper(p[:n]), from)
			}
			if err != nil {
				return struct{}{}, err
			}
		}
	}
}

// A task receives datagrams from any peer and answers.
func ExampleServer_ListenUDP() {
	s := &server.Server{Workers: 1}
	u, err := s.ListenUDP("udp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	sched.Go(s.Group().Runtime(), capitals(u)).Detach()

	c, err := net.Dial("udp", u.LocalAddr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Fprint(c, "hello")
	p := make([]byte, 100)
	n, err := c.Read(p)
	fmt.Println(string(p[:n]), err)
	// Output: HELLO <nil>
}

// A connected socket sends to one peer, and receives from that alone.
func ExampleDialer_DialUDP() {
	s := &server.Server{Workers: 1}
	u, err := s.ListenUDP("udp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	sched.Go(s.Group().Runtime(), capitals(u)).Detach()

	d := &server.Dialer{Group: s.Group}
	h := sched.Go(s.Group().Runtime(), func(cx *sched.Context) (string, error) {
		c, err := d.DialUDP(cx, "udp", u.LocalAddr().String())
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
	// Output: HELLO <nil>
}
