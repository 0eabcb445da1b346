package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/cloudwego/netpoll"
	"github.com/lesismal/nbio"
	"github.com/lesismal/nbio/logging"
	"github.com/tidwall/evio"

	"github.com/suiro-go/suiro/bench/load"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

// A service is what a contender does with what it receives: echo it, or answer each byte with a chunk. Handlers
// are written as each framework's own examples are.
type service struct {
	chunks *load.Chunker // nil: echo
	http   bool          // an answer of HTTP to each request
	tls    *tls.Config   // what it speaks; nil: TCP alone
	size   int           // of the load's messages: who chooses a buffer chooses it for these
}

// answer calls write with what is to be sent in answer to p.
func (s service) answer(p []byte, write func([]byte) (int, error)) error {
	if s.http {
		_, err := write([]byte(httpReply)) // the load's requests come whole, and one at a time
		return err
	}
	if s.chunks == nil {
		_, err := write(p)
		return err
	}
	for _, request := range p {
		if _, err := write(s.chunks.Chunk(request)); err != nil {
			return err
		}
	}
	return nil
}

// servers are the contenders: each serves on a free port of the loopback until the process ends.
var servers = map[string]func(service) error{
	"net":            func(s service) error { return s.serveNet(s.loop) },
	"net-copy":       func(s service) error { return s.serveNet(s.copy) },
	"gnet":           func(s service) error { return serveGnet(s, false) },
	"gnet-et":        func(s service) error { return serveGnet(s, true) },
	"evio":           serveEvio,
	"nbio":           serveNbio,
	"netpoll":        serveNetpoll,
	"suiro/io_uring": func(s service) error { return s.serveSuiro(&suiroHandler{service: s}, "io_uring") },
	"suiro/epoll":    func(s service) error { return s.serveSuiro(&suiroHandler{service: s}, "epoll") },

	"suiro-sequential/io_uring": func(s service) error { return s.serveSuiro(server.Sequential(s.stream), "io_uring") },
	"suiro-sequential/epoll":    func(s service) error { return s.serveSuiro(server.Sequential(s.stream), "epoll") },

	"suiro-h1/io_uring": func(s service) error { return s.serveSuiro(&h1Handler{suiroHandler{service: s}}, "io_uring") },
	"suiro-h1/epoll":    func(s service) error { return s.serveSuiro(&h1Handler{suiroHandler{service: s}}, "epoll") },
}

func serverNames() []string { return slices.Sorted(maps.Keys(servers)) }

// serveMain is the child process "conns serve CONTENDER KIND SIZE". What comes on its standard input, obey says.
func serveMain(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("serve takes a contender, a kind of load and a size, not %q", args)
	}
	var s service
	var err error
	if s.size, err = strconv.Atoi(args[2]); err != nil {
		return err
	}
	if args[1] == "chunks" {
		s.chunks = load.NewChunker()
	}
	kind := kinds[args[1]]
	if s.http = kind.http; kind.tls {
		if !speaksTLS(args[0]) {
			return fmt.Errorf("%s has no TLS", args[0])
		}
		s.tls = certificate()
	}
	go obey()
	return servers[args[0]](s)
}

// suiroHandler is examples/echo.
type suiroHandler struct {
	server.Base
	service service
}

func (h *suiroHandler) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	return h.service.answer(p, c.Write)
}

// stream is examples/echo -sequential.
func (s service) stream(_ *sched.Context, c *server.Stream) error {
	s.loop(c)
	return nil
}

func (s service) serveSuiro(h server.Handler, backend string) error {
	srv := &server.Server{
		Addr:      "127.0.0.1:0",
		Handler:   h,
		Backend:   backend,
		Workers:   peer.Loops(),
		TLS:       s.tls,
		Listening: func(addr net.Addr) { peer.Ready(addr.String()) },
	}
	if _, own := h.(*h1Handler); s.http && !own {
		srv.Handler, srv.Workers = server.HTTP(httpHandler()), 0 // as many as a user gets
	}
	return srv.ListenAndServe()
}

func (s service) serveNet(handle func(net.Conn)) error {
	ln := peer.Listen("127.0.0.1:0")
	peer.Ready(ln.Addr().String())
	if s.tls != nil {
		return (&http.Server{Handler: httpHandler(), TLSConfig: s.tls}).ServeTLS(ln, "", "")
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
	if s.chunks != nil {
		s.loop(c)
		return
	}
	_, _ = io.Copy(c, c)
}

func serveEvio(s service) error {
	var events evio.Events
	events.NumLoops = peer.Loops()
	events.Serving = func(srv evio.Server) evio.Action {
		peer.Ready(srv.Addrs[0].String())
		return evio.None
	}
	events.Opened = func(evio.Conn) ([]byte, evio.Options, evio.Action) {
		return nil, evio.Options{ReuseInputBuffer: true}, evio.None
	}
	events.Data = func(c evio.Conn, in []byte) (out []byte, action evio.Action) {
		switch {
		case s.http:
			return []byte(httpReply), evio.None
		case s.chunks == nil:
			return in, evio.None // evio copies it
		}
		if len(in) == 1 {
			return s.chunks.Chunk(in[0]), evio.None
		}
		for _, request := range in {
			out = append(out, s.chunks.Chunk(request)...)
		}
		return out, evio.None
	}
	return evio.Serve(events, "tcp://127.0.0.1:0")
}

func serveNbio(s service) error {
	logging.SetLevel(logging.LevelError)
	engine := nbio.NewEngine(nbio.Config{Network: "tcp", Addrs: []string{"127.0.0.1:0"}, NPoller: peer.Loops()})
	engine.OnData(func(c *nbio.Conn, in []byte) {
		if s.answer(in, c.Write) != nil { // it copies what the socket does not take
			c.Close()
		}
	})
	if err := engine.Start(); err != nil {
		return err
	}
	peer.Ready(engine.Addrs[0])
	select {}
}

func serveNetpoll(s service) error {
	ln, err := netpoll.CreateListener("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	loop, err := netpoll.NewEventLoop(func(_ context.Context, c netpoll.Connection) error {
		r, w := c.Reader(), c.Writer()
		defer r.Release()
		p, err := r.Next(r.Len())
		if err != nil {
			return err
		}
		if err := s.answer(p, w.WriteBinary); err != nil { // no copy of more than 4 KiB
			return err
		}
		return w.Flush()
	})
	if err != nil {
		log.Fatal(err)
	}
	peer.Ready(ln.Addr().String())
	return loop.Serve(ln)
}
