package main

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/panjf2000/gnet/v2"

	"github.com/suiro-go/suiro/server"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

// servers are the contenders: each serves on a free port of the loopback until the process ends.
var servers = map[string]func(burner) error{
	"net":            serveNet,
	"gnet":           serveGnet,
	"suiro/io_uring": func(b burner) error { return serveSuiro(b, "io_uring") },
	"suiro/epoll":    func(b burner) error { return serveSuiro(b, "epoll") },
}

func allNames() []string { return slices.Sorted(maps.Keys(servers)) }

// serve is the child process "tail serve CONTENDER ITERATIONS". It ends when its parent does, or closes its
// standard input.
func serve(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("serve takes a contender and the iterations of a burn, not %q", args)
	}
	iterations, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return servers[args[0]](burner{iterations})
}

// A burner is what all handlers do before they echo.
type burner struct{ iterations uint64 }

func (b burner) handle(message []byte) {
	if len(message) > 0 && message[0] == burnByte {
		_ = burn(b.iterations)
	}
}

type suiroHandler struct {
	server.Base
	burner burner
}

func (h suiroHandler) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	h.burner.handle(p)
	_, err := c.Write(p)
	return err
}

func serveSuiro(b burner, backend string) error {
	s := &server.Server{
		Addr:      "127.0.0.1:0",
		Handler:   suiroHandler{burner: b},
		Backend:   backend,
		Workers:   serverCPUs,
		Listening: func(addr net.Addr) { peer.Ready(addr.String()) },
	}
	return s.ListenAndServe()
}

func serveNet(b burner) error {
	ln := peer.Listen("127.0.0.1:0")
	peer.Ready(ln.Addr().String())
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			p := make([]byte, 4<<10)
			for {
				n, err := c.Read(p)
				if err != nil {
					return
				}
				b.handle(p[:n])
				if _, err := c.Write(p[:n]); err != nil {
					return
				}
			}
		}()
	}
}

type gnetHandler struct {
	gnet.BuiltinEventEngine
	burner burner
	addr   string
}

func (h *gnetHandler) OnBoot(gnet.Engine) gnet.Action {
	peer.Ready(h.addr)
	return gnet.None
}

func (h *gnetHandler) OnTraffic(c gnet.Conn) gnet.Action {
	p, err := c.Next(-1)
	if err != nil {
		return gnet.Close
	}
	h.burner.handle(p)
	if _, err := c.Write(p); err != nil {
		return gnet.Close
	}
	return gnet.None
}

// serveGnet picks the port first: gnet tells only the one it was given.
func serveGnet(b burner) error {
	ln := peer.Listen("127.0.0.1:0")
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		log.Print(err)
	}
	return gnet.Run(&gnetHandler{burner: b, addr: addr}, "tcp://"+addr,
		gnet.WithMulticore(true), gnet.WithNumEventLoop(serverCPUs))
}
