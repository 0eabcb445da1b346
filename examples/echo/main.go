// Echo sends back what it receives.
//
//	go run ./examples/echo -network tcp|udp|unix -addr 127.0.0.1:9000
//		[-backend io_uring|epoll] [-workers N] [-sequential] [-admin 127.0.0.1:9090]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

type echo struct{ server.Base }

func (echo) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	_, err := c.Write(p)
	return err
}

// plain is the same in sequential code. It has no buffer of its own, also while it waits.
func plain(_ *sched.Context, s *server.Stream) error {
	for {
		p, err := s.Next(-1)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := s.Write(p); err != nil {
			return err
		}
	}
}

type packetEcho struct{ server.PacketBase }

// OnOpen asks for cheaper receiving where the kernel has it.
func (packetEcho) OnOpen(c *server.PacketConn) error {
	if err := c.WantCoalesced(true); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func (packetEcho) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		err := c.WriteTo(p.Data, p.From)
		if err != nil && !errors.Is(err, conn.ErrWriteQueueFull) { // a datagram more or less is no reason to close
			return err
		}
	}
	return nil
}

func main() {
	s := &server.Server{
		Handler:   echo{},
		Packets:   packetEcho{},
		Listening: func(addr net.Addr) { fmt.Println("listening on", addr) },
	}
	flag.StringVar(&s.Network, "network", "tcp", "tcp, tcp4, tcp6, udp, udp4, udp6 or unix")
	flag.StringVar(&s.Addr, "addr", "127.0.0.1:9000", "`host:port` to listen on, port 0 being any free one, or a path for unix")
	flag.StringVar(&s.Backend, "backend", "", "io_uring or epoll (default: the best that starts; with -sequential epoll)")
	flag.IntVar(&s.Workers, "workers", 0, "number of workers (default: one per processor)")
	sequential := flag.Bool("sequential", false, "serve streams with sequential code, not with callbacks")
	app.AdminFlag()
	flag.Parse()
	if *sequential {
		s.Handler = server.Sequential(plain)
	}
	app.Main("echo", s)
}
