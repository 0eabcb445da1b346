package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/suiro-go/suiro/server"
)

// serve is the child process "udp serve CONTENDER". It ends when its standard input does.
func serve(name string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	backend, ours := strings.CutPrefix(name, "suiro/")
	switch {
	case ours:
		return serveSuiro(backend)
	case name == "net":
		return serveNet()
	}
	return fmt.Errorf("no contender %q", name)
}

func serveNet() error {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	fmt.Println("listening on", c.LocalAddr())
	p := make([]byte, 2048)
	for {
		n, from, err := c.ReadFromUDPAddrPort(p)
		if err != nil {
			return err
		}
		if _, err := c.WriteToUDPAddrPort(p[:n], from); err != nil {
			return err
		}
	}
}

type echo struct{ server.PacketBase }

func (echo) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

func serveSuiro(backend string) error {
	s := &server.Server{
		Packets: echo{}, Network: "udp4", Addr: "127.0.0.1:0", Backend: backend, Workers: 1,
		Listening: func(a net.Addr) { fmt.Println("listening on", a) },
	}
	return s.ListenAndServe()
}
