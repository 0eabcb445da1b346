package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// Run is for the main function of a program. It serves until ctx ends or a signal arrives, and then
// shuts all servers down at the same time.
//
// For a server that does not listen yet it calls ListenAndServe. A server that listens already, for
// example by Listen or ListenStream, goes on with that, and Run waits for its end. If a single
// server is shut down by other code, the rest go on. A server that was shut down before Run, for
// example by an earlier Run, is not served again: Run counts it as ended.
//
// Run does not use sockets of systemd's socket activation by itself: set Server.Listener to one of
// Listeners. It logs a warning if the process was started with such sockets and nobody has taken
// them.
//
// The signals are SIGINT and SIGTERM, on Windows Ctrl-C, Ctrl-Break and the end of the session.
// Until Run returns they do not end the process. Each server's ShutdownTimeout bounds its orderly
// shutdown. A second signal ends all servers at once. So does a signal that arrives after ctx has
// ended or a server has failed.
//
// It returns nil if all servers have ended in order, whatever the cause. Otherwise it returns the
// errors of Serve and Shutdown, joined: a server could not listen, or did not end in time. If one
// server fails, the others are shut down. The error matches ErrInterrupted if a signal arrived
// during an orderly shutdown that ctx or a signal had started. Run never exits:
//
//	if err := server.Run(context.Background(), s); err != nil {
//		log.Fatal(err)
//	}
//
// Run does not stop a Group that servers are On: its owner does that afterwards.
func Run(ctx context.Context, servers ...*Server) error {
	if len(servers) == 0 {
		return errors.New("server: Run without a server")
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	return run(ctx, signals, servers)
}

// defaultShutdownTimeout and the time that Shutdown may take after that are below the 10 s after
// which Docker kills a program.
const defaultShutdownTimeout = 8 * time.Second

// run is Run, with the channel of signals.
func run(ctx context.Context, signals <-chan os.Signal, servers []*Server) error {
	var errs []error
	results := make(chan error, len(servers))
	for _, s := range servers {
		go func() { results <- s.serveUntilEnd() }()
	}
	left, asked := len(servers), false
	for left > 0 && len(errs) == 0 && !asked {
		select {
		case err := <-results:
			left--
			if err != nil {
				errs = append(errs, err)
			}
		case <-ctx.Done():
			asked = true
		case <-signals:
			asked = true
		}
	}
	hurry, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ends := make(chan error, len(servers))
	for _, s := range servers {
		go func() { ends <- s.shutdownInTime(hurry) }()
	}
	for ending := len(servers); ending > 0 || left > 0; {
		var err error
		select {
		case err = <-results:
			left--
		case err = <-ends:
			ending--
		case <-signals:
			if asked {
				cancel(ErrInterrupted)
			} else { // a server has failed: its error is the cause
				cancel(nil)
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// serveUntilEnd serves. If other code has started the server, it only waits. It returns nil once
// the server is shut down or closed.
func (s *Server) serveUntilEnd() error {
	var err error
	if group := s.Group(); group != nil {
		err = s.wait(group)
	} else {
		warnUntaken.Do(func() { s.warnOfUntakenSockets() })
		err = s.ListenAndServe()
	}
	if err == ErrServerClosed {
		return nil
	}
	return err
}

// shutdownInTime calls Shutdown, bounded by the server's time-out and by the end of hurry. If other
// code shuts the server down or closes it, it waits for that.
func (s *Server) shutdownInTime(hurry context.Context) error {
	if s.stopIdle() {
		return nil // returns without a timer: Go ends a process that needs one and can open no files
	}
	ctx, limit := hurry, cmp.Or(s.ShutdownTimeout, defaultShutdownTimeout)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(hurry, limit)
		defer cancel()
	}
	err := s.Shutdown(ctx)
	if err == ErrServerClosed {
		err = nil
		select {
		case <-s.ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	switch {
	case errors.Is(err, sched.ErrClosed):
		return nil // the workers had stopped before, and Serve returned the reason
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("server: the end took longer than %v: %w", limit, err)
	case err != nil && context.Cause(hurry) == ErrInterrupted:
		return fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return err
}
