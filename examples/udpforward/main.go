// Udpforward passes datagrams on to another address, and its answers back. Each client has a
// session with a socket of its own towards the target, so the target tells the clients apart.
//
//	go run ./examples/udpforward -addr 127.0.0.1:5300 -to 127.0.0.1:53
//		[-idle 1m] [-max N] [-backend io_uring|epoll] [-workers N]
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// maxDatagram is the longest that UDP has.
const maxDatagram = 65507

// A forwarder serves the sessions of all clients.
type forwarder struct {
	dialer server.Dialer
	to     string
}

// serve is one session: a task that passes the client's datagrams on, and another one for the
// answers. The first ends when the client was silent for the idle time; closing the socket ends the
// second.
func (f *forwarder) serve(cx *sched.Context, client *server.Peer) error {
	target, err := f.dialer.DialUDP(cx, "udp", f.to)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	sched.Go(cx, func(cx *sched.Context) (struct{}, error) { return struct{}{}, answer(cx, target, client) }).Detach()

	p := make([]byte, maxDatagram)
	for {
		n, err := client.Recv(cx, p)
		if err != nil {
			return ended(err)
		}
		err = target.Send(cx, p[:n])
		if refused(err) {
			err = target.Send(cx, p[:n]) // the error may be an earlier datagram's
		}
		if !passes(err) {
			return ended(err)
		}
	}
}

// answer passes the target's datagrams back.
func answer(cx *sched.Context, target *server.UDPSocket, client *server.Peer) error {
	defer func() { _ = target.Close() }() // else the session would go on without answers
	p := make([]byte, maxDatagram)
	for {
		n, err := target.Recv(cx, p)
		if err == nil {
			err = client.Send(p[:n])
		}
		if !passes(err) {
			return ended(err)
		}
	}
}

// passes reports whether an error concerns one datagram: it is lost then, as UDP allows.
func passes(err error) bool {
	return err == nil || refused(err) || errors.Is(err, server.ErrWriteQueueFull)
}

// refused reports whether the kernel has refused a datagram, or reports what became of an earlier
// one. The target refuses datagrams while no program listens there.
func refused(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno)
}

// ended is nil for the ends that each session has.
func ended(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func main() {
	f := &forwarder{}
	sessions := &server.Sessions{Handler: server.SessionTasks(f.serve), CountSent: true}
	s := &server.Server{Network: "udp", Packets: sessions}
	f.dialer.Group = s.Group
	app.Flags(s, "127.0.0.1:5300")
	flag.StringVar(&f.to, "to", "", "`host:port` to pass datagrams on to")
	flag.DurationVar(&sessions.Idle, "idle", time.Minute, "how long a session lives without datagrams")
	flag.IntVar(&sessions.Max, "max", 10000, "the most sessions at a time")
	flag.Parse()
	if _, _, err := net.SplitHostPort(f.to); err != nil {
		fmt.Fprintf(os.Stderr, "udpforward: -to: %v; use host:port\n", err)
		os.Exit(1)
	}
	app.Main("udpforward", s)
}
