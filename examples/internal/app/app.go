// Package app is what the examples' main functions share.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/server"
)

// grace is how long requests in progress have to finish after a signal. Idle connections
// end at once.
const grace = 10 * time.Second

// Main serves until SIGINT or SIGTERM (on Windows Ctrl-C, Ctrl-Break or the end of the
// session), then shuts down. An error is one line on the standard error, and the exit
// code 1.
func Main(name string, s *server.Server) {
	if err := untilSignal(s); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func untilSignal(s *server.Server) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := s.Shutdown(ctx)
	if serr := <-served; !errors.Is(serr, server.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
