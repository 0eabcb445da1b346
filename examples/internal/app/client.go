package app

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Client is the main function of a program that only dials. It registers the flags of its group,
// parses all flags and calls f on a goroutine that may block. The context ends by SIGINT or
// SIGTERM. An error is one line on the standard error, and the exit code 1.
func Client(name string, f func(context.Context, *conn.Group) error) {
	if err := withGroup(f); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func withGroup(f func(context.Context, *conn.Group) error) error {
	backend := flag.String("backend", "", "io_uring or epoll (default: epoll)")
	workers := flag.Int("workers", 0, "number of workers (default: one per processor)")
	flag.Parse()
	group, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: *backend, AnyThread: true}}, sched.Config{Workers: *workers})
	if err != nil {
		return err
	}
	defer func() { _ = group.Close() }()
	// Not server.Run: there is no server, and f returns when its work is done.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return f(ctx, group)
}
