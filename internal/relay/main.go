// Relay is a proxy for tests and benchmarks: it splices what connects to -addr with a
// connection to -to. It prints "listening on" and its address, and ends with SIGINT or
// SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	to := flag.String("to", "", "where to connect to")
	workers := flag.Int("workers", 0, "number of workers; 0: as many as processors")
	var cfg conn.Config
	flag.StringVar(&cfg.Reactor.Backend, "backend", "", "io_uring or epoll; empty: the better one that starts")
	flag.IntVar(&cfg.MaxPipes, "pipes", 0, "conn.Config.MaxPipes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, cfg, *workers, *addr, *to); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg conn.Config, workers int, addr, to string) error {
	origin, err := net.ResolveTCPAddr("tcp", to)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	g, err := conn.NewGroup(cfg, sched.Config{Workers: workers})
	if err != nil {
		return err
	}
	l, err := g.Listen(ln, &accepted{origin: origin})
	if err != nil {
		return err
	}
	fmt.Printf("listening on %v\n", l.Addr())
	<-ctx.Done()
	_ = l.Close()
	g.Abort()
	_ = g.Wait(context.Background())
	return g.Close()
}

// accepted is the handler of what connects here. It splices at once: what comes
// while the other connection is being established waits for that.
type accepted struct {
	conn.Base
	origin net.Addr
}

func (h *accepted) OnOpen(c *conn.Conn) error {
	b, err := c.Dial(h.origin, dialled{})
	if err == nil {
		_, err = conn.Splice(c, b, nil)
	}
	return err
}

func (h *accepted) OnData(*conn.Conn) error { return nil }

type dialled struct{ conn.Base }

func (dialled) OnData(*conn.Conn) error { return nil }
