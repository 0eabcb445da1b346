package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/onworker"
)

// Shutdown ends the server in order:
//
//  1. New calls of Serve are refused, and the token of Tasks is canceled.
//  2. The listeners are closed, so no new connection arrives. Then blocked calls of Serve return: a
//     program that exits then has freed its ports.
//  3. OnDrain is called on the handlers of accepted connections and of packet sockets. Base closes
//     the connection or socket, which sends written bytes first. Other handlers finish their work
//     first. A packet socket receives until it is closed.
//  4. Accepted connections end, each with its OnClose, and then the tasks of Tasks. Connections
//     that they use through a Dialer or Pool on the server's Group work until then.
//  5. OnDrain is called on dialed connections, also on idle ones of a Pool.
//  6. The dialed connections end. If ctx ends before that, the remaining connections are reset and
//     tasks are aborted: the error matches that of ctx, counts the connections and names the tasks.
//  7. The workers stop. A server that is On a group leaves out 5 to 7.
//
// Other tasks that still run on the server's own workers are canceled in step 7. They learn of the
// shutdown in step 1, by sched.Context.Draining.
//
// 5 relies on 4: a request in progress may need a connection to another server. 7 relies on 6: the
// workers close the descriptors. A peer that has acknowledged everything and is silent, as an idle
// client is, delays Shutdown by at most 100 ms. A PROXY header or a TLS handshake that has begun
// has conn.DrainHandshake to complete, and a quarter of that to begin. OnDrain is called after it.
//
// It returns nil, or ctx's error. A second call returns ErrServerClosed. Shutdown and Close wait
// for handlers. So on a worker of the server they do nothing, and return sched.ErrBlocksWorker:
// call them on another goroutine.
//
// A handler that never returns does not block Shutdown. The listeners are closed without its
// worker, and Shutdown gives up a second after ctx has ended. Its error then matches conn.ErrStuck
// as well as ctx's, and says how many connections are left and which worker is stuck. The stuck
// worker may still use its connections' descriptors and the memory of its reactor, so these stay.
// If the handler returns later, all of it is released then. On Windows the listeners of a stuck
// worker, and the ports of its packet sockets, are freed no earlier.
func (s *Server) Shutdown(ctx context.Context) error {
	group, err := s.stop()
	if group == nil {
		return err
	}
	defer s.hasEnded()
	if s.needs.Shutdown != nil { // handlers may have work to end even without a connection
		s.needs.Shutdown(group)
	}
	if s.members != nil {
		return s.hasStopped(s.endOnShared(ctx, group))
	}
	err = s.end(ctx, group)
	left := s.abortTasks()
	if stuck := group.Stop(ctx); errors.Is(stuck, conn.ErrStuck) {
		return withTasks(fmt.Errorf("server: %w", stuck), left) // it includes ctx's error
	} // any other error is a driver's, which Serve has returned
	return s.hasStopped(withTasks(err, left))
}

// end ends accepted connections and packet sockets, then the tasks, which may need dialed
// connections, and then dialed connections. When these end, their handlers may start tasks.
func (s *Server) end(ctx context.Context, group *conn.Group) error {
	err := group.ShutdownServed(ctx)
	for err == nil {
		if err = s.awaitTasks(ctx, group); err == nil {
			err = group.Shutdown(ctx)
		}
		if err == nil && s.scope.CloseIfEmpty() {
			return nil
		}
	}
	return withConnections(err, group)
}

// withConnections adds to err how many connections are open, and the peer of one.
func withConnections(err error, group *conn.Group) error {
	open, peer := 0, net.Addr(nil)
	for c := range group.Connections() {
		if open++; peer == nil {
			peer = c.RemoteAddr
		}
	}
	if open == 0 || peer == nil {
		return err
	}
	return fmt.Errorf("server: connections that have not ended: %d, one of them with %v: %w", open, peer, err)
}

// endOnShared ends the server's connections and tasks: in order until ctx ends, and then at once.
func (s *Server) endOnShared(ctx context.Context, group *conn.Group) error {
	ended, err := s.members.drain(ctx, group, s.listeners)
	for ended && err == nil && !s.scope.CloseIfEmpty() {
		err = s.awaitTasks(ctx, group)
	}
	if ended && err == nil {
		return nil
	}
	left := s.abortTasks()
	if stuck := s.members.abort(group); stuck != nil && err != nil {
		return withTasks(fmt.Errorf("server: %w; %w", err, stuck), left)
	} else if stuck != nil {
		return withTasks(fmt.Errorf("server: %w", stuck), left)
	}
	s.awaitAborted(group)
	return withTasks(err, left)
}

// hasEnded lets go of those that wait for the end.
func (s *Server) hasEnded() {
	noteEnd(s)
	close(s.ended)
}

// hasStopped tells the handler that no connection is left, and returns err.
func (s *Server) hasStopped(err error) error {
	if s.needs.Stopped != nil && !errors.Is(err, conn.ErrStuck) {
		s.needs.Stopped()
	}
	return err
}

// Close ends the server at once: listeners are closed, connections reset and tasks aborted. It
// waits for handlers, as Shutdown does after ctx has ended. A handler that never returns delays it
// by a second, and the error then matches conn.ErrStuck. Otherwise it returns nil. After Shutdown
// or Close the error is ErrServerClosed, and on a worker of the server sched.ErrBlocksWorker.
func (s *Server) Close() error {
	group, err := s.stop()
	if group == nil {
		return err
	}
	defer s.hasEnded()
	s.scope.Close()
	if s.members != nil {
		if err := s.members.abort(group); err != nil {
			return fmt.Errorf("server: %w", err)
		}
		s.awaitAborted(group)
		return s.hasStopped(nil)
	}
	over, cancel := context.WithCancelCause(context.Background())
	cancel(conn.ErrStuck) // so that the error names no context
	if err := group.Stop(over); errors.Is(err, conn.ErrStuck) {
		return fmt.Errorf("server: %w", err)
	}
	return s.hasStopped(nil)
}

// stopIdle stops a server that does not serve. It returns false if the server serves.
func (s *Server) stopIdle() bool {
	s.mu.Lock()
	idle := s.group == nil
	s.stopping = s.stopping || idle
	s.mu.Unlock()
	if idle {
		s.scope.Close()
	}
	return idle
}

// stop does steps 1 and 2. It returns no group if nothing else is to be done.
func (s *Server) stop() (*conn.Group, error) {
	if group := s.Group(); group != nil && !s.Stopping() {
		if err := onworker.End(group.Runtime()); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil, ErrServerClosed
	}
	s.stopping = true
	if s.group == nil {
		s.mu.Unlock()
		s.scope.Close()
		return nil, nil
	}
	s.mu.Unlock()
	s.scope.Drain()
	if s.members == nil {
		s.group.Runtime().Draining().Cancel()
	}
	defer close(s.stopped)
	var closing sync.WaitGroup       // each may wait for a worker that is stuck
	for l, ln := range s.listeners { // it does not change once stopping is set
		closing.Go(func() {
			_ = l.Close()
			_ = ln.Close() // it shares the socket, which refuses connections only when both are closed
		})
	}
	for l := range s.sockets { // it does not change either
		closing.Go(func() { _, _ = l.stop() })
	}
	closing.Wait()
	return s.group, nil
}
