// Relay is a proxy for tests and benchmarks. It forwards from -addr to -to, and back: streams, each
// spliced with a connection of its own, or datagrams.
//
//	relay -to 127.0.0.1:6379
//	relay -network unix -addr /run/a.sock -to-network tcp -to 127.0.0.1:80
//	relay -network udp -idle 10s -to 127.0.0.1:53
//
// It prints "listening on" and its address, and ends with SIGINT or SIGTERM, resetting open
// connections.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// options is the command line.
type options struct {
	network, addr string
	toNetwork, to string
	workers       int
	idle          time.Duration
	group         conn.Config
}

func main() {
	var o options
	flag.StringVar(&o.network, "network", "tcp", "what to listen on: tcp, unix or udp")
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "where: host:port, or a path for unix")
	flag.StringVar(&o.toNetwork, "to-network", "", "what to connect to: tcp or unix for streams, udp for datagrams; empty: as -network")
	flag.StringVar(&o.to, "to", "", "where to connect to")
	flag.IntVar(&o.workers, "workers", 0, "number of workers; 0: as many as processors")
	flag.DurationVar(&o.idle, "idle", 0, "how long a peer of udp is remembered after its last datagram; 0: a minute")
	flag.StringVar(&o.group.Reactor.Backend, "backend", "", "io_uring or epoll; empty: the better one that starts")
	flag.IntVar(&o.group.MaxPipes, "pipes", 0, "conn.Config.MaxPipes")
	flag.Parse()
	if o.toNetwork == "" {
		o.toNetwork = o.network
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

// run relays until ctx ends.
func (o *options) run(ctx context.Context) error {
	g, err := conn.NewGroup(o.group, sched.Config{Workers: o.workers})
	if err != nil {
		return err
	}
	addr, stop, err := o.listen(g)
	if err != nil {
		_ = g.Close()
		return err
	}
	fmt.Printf("listening on %v\n", addr)
	<-ctx.Done()
	stop()
	return g.Stop(ctx)
}

// listen begins; stop ends the listening, and what it has made in the file system.
func (o *options) listen(g *conn.Group) (addr net.Addr, stop func(), err error) {
	switch from, to := o.network, o.toNetwork; {
	case from == "udp" && to == "udp":
		return listenPackets(g, o.addr, o.to, o.idle)
	case (from == "tcp" || from == "unix") && (to == "tcp" || to == "unix"):
		return listenStreams(g, from, o.addr, to, o.to)
	default:
		return nil, nil, fmt.Errorf("from %q to %q: use tcp or unix for both, or udp for both", from, to)
	}
}
