package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/suiro-go/suiro/conn"
)

// Shutdown ends the server in order:
//
//  1. New calls of Serve are refused.
//  2. The listeners are closed: no new connection comes. Then the calls of Serve that block
//     return: a program that exits then leaves no port behind.
//  3. The handlers of accepted connections are told by OnDrain, those of packet sockets
//     too. Base closes the connection or socket, which sends what was written; others
//     finish what they are doing first. A packet socket receives until it is closed.
//  4. Accepted connections end, each with its OnClose. What they need of others, through a
//     Dialer or Pool on the server's Group, works until then.
//  5. Dialed connections are told by OnDrain, also those that are idle in a Pool.
//  6. They end, too. If ctx ends before, what is left is reset.
//  7. The workers stop. A server that is On a group leaves out 5 to 7.
//
// 5 relies on 4: a request in progress may need a connection to another server. 7 relies on
// 6: descriptors are closed by the workers. A peer that has acknowledged everything and is
// silent, as an idle client is, is not waited for longer than 100 ms. A PROXY header or a TLS
// handshake that is under way has conn.DrainHandshake to end, and a quarter of that to begin.
// The handler is told by OnDrain after that.
//
// It returns nil, or ctx's error. A handler must not call it, nor Close: both
// wait for handlers. A second call returns ErrServerClosed.
//
// A handler that never returns does not hold it up: the listeners are closed without their
// worker, and a second after ctx has ended Shutdown gives up. Its error then matches
// conn.ErrStuck as well as ctx's, and says how many connections are left and which worker is
// stuck. What that may still use stays: its connections' descriptors, and the memory of
// its reactor. If the handler returns later, all of it is released then. On Windows the
// listeners of a stuck worker are closed no earlier, nor are its packet sockets' ports free.
func (s *Server) Shutdown(ctx context.Context) error {
	group, err := s.stop()
	if group == nil {
		return err
	}
	if s.needs.Shutdown != nil { // there may be things to end even without a connection
		s.needs.Shutdown(group)
	}
	if s.members != nil {
		return s.hasStopped(s.members.end(ctx, group, s.listeners))
	}
	err = group.Shutdown(ctx)
	if stuck := group.Stop(ctx); errors.Is(stuck, conn.ErrStuck) {
		return fmt.Errorf("server: %w", stuck) // with ctx's error
	} // another one is a driver's, which Serve has returned
	return s.hasStopped(err)
}

// hasStopped tells the handler that no connection is left, and returns err.
func (s *Server) hasStopped(err error) error {
	if s.needs.Stopped != nil && !errors.Is(err, conn.ErrStuck) {
		s.needs.Stopped()
	}
	return err
}

// Close ends the server at once: listeners are closed and connections reset. It waits for
// handlers, as Shutdown does whose ctx has ended: one that never returns costs a second,
// and an error that matches conn.ErrStuck.
func (s *Server) Close() error {
	group, err := s.stop()
	if group == nil {
		return err
	}
	if s.members != nil {
		if err := s.members.abort(group); err != nil {
			return fmt.Errorf("server: %w", err)
		}
		return s.hasStopped(nil)
	}
	over, cancel := context.WithCancelCause(context.Background())
	cancel(conn.ErrStuck) // so that the error says nothing of a context
	if err := group.Stop(over); errors.Is(err, conn.ErrStuck) {
		return fmt.Errorf("server: %w", err)
	}
	return s.hasStopped(nil)
}

// stop is steps 1 and 2. It returns no group if there is nothing more to do.
func (s *Server) stop() (*conn.Group, error) {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil, ErrServerClosed
	}
	s.stopping = true
	if s.group == nil {
		s.mu.Unlock()
		return nil, nil
	}
	s.mu.Unlock()
	defer close(s.stopped)
	var closing sync.WaitGroup       // each may wait for a worker that is stuck
	for l, ln := range s.listeners { // nothing adds to it once stopping is set
		closing.Go(func() {
			_ = l.Close()
			_ = ln.Close() // it shares the socket, which refuses only when both are closed
		})
	}
	for l := range s.sockets { // nor to this
		closing.Go(func() { _, _ = l.stop() })
	}
	closing.Wait()
	return s.group, nil
}
