package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

func (s service) serveNet(handle func(net.Conn)) error {
	if s.udp {
		return servePackets()
	}
	ln := peer.Listen("127.0.0.1:0")
	if s.tls && s.http {
		peer.Ready(ln.Addr().String())
		srv := &http.Server{Handler: httpHandler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}}}
		return srv.ServeTLS(ln, "", "")
	}
	if s.tls {
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{certificate()}})
	}
	peer.Ready(ln.Addr().String())
	if s.keys != nil {
		handle = s.netRedis
	}
	if s.http {
		return http.Serve(ln, httpHandler())
	}
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			handle(c)
		}()
	}
}

func (s service) loop(c net.Conn) {
	p := make([]byte, 4<<10)
	if s.chunks == nil && s.size > len(p) {
		p = make([]byte, 64<<10)
	}
	for {
		n, err := c.Read(p)
		if err != nil || s.answer(p[:n], c.Write) != nil {
			return
		}
	}
}

// copy is an echo in one line, which splices: the bytes never come to the process.
func (s service) copy(c net.Conn) {
	if s.chunks != nil || s.burn > 0 || s.sleep > 0 {
		s.loop(c)
		return
	}
	_, _ = io.Copy(c, c)
}

func servePackets() error {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	peer.Ready(c.LocalAddr().String())
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
