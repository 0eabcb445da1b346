package server

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
)

// A keptListener keeps the workers running while the listener is open or has connections.
type keptListener struct {
	inner   groupListener
	server  *Server
	group   *conn.Group
	path    []net.Listener
	stopped atomic.Bool
}

// A groupListener is a *conn.SocketListener or a *conn.UnixListener.
type groupListener interface {
	Close() error
	Files() ([]*os.File, error)
	Addr() net.Addr
}

// keep registers a listener on the sockets all, which stop will close. If the server is stopping,
// it closes the listener, and the error is ErrServerClosed.
func (s *Server) keep(group *conn.Group, inner groupListener, all []net.Listener) (*keptListener, error) {
	l := &keptListener{inner: inner, server: s, group: group}
	if all[0].Addr().Network() == "unix" {
		l.path = all // its Close removes the path
	} else {
		closeAll(all) // the group has its own descriptors, and Go's poller must not be woken by connections
	}
	if !s.register(l) {
		_ = inner.Close() // not under mu: it may wait for a worker that is stuck
		return nil, ErrServerClosed
	}
	return l, nil
}

// register adds l to the listeners that stop closes, unless the server is stopping.
func (s *Server) register(l *keptListener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	if s.sockets == nil {
		s.sockets = make(map[*keptListener]bool)
	}
	s.sockets[l] = true
	return true
}

// stop is the part of Close that the server's stop needs too. first is false if stop was called
// before. The path is removed even with an error: no caller tries again.
func (l *keptListener) stop() (first bool, err error) {
	first = !l.stopped.Swap(true)
	err = l.inner.Close()
	if first {
		closeAll(l.path)
	}
	return first, err
}

// Close implements net.Listener. Even with an error the listener no longer belongs to the server.
func (l *keptListener) Close() error {
	first, err := l.stop()
	if !first {
		return err
	}
	s := l.server
	s.mu.Lock()
	if !s.stopping { // otherwise stop goes through them
		delete(s.sockets, l)
	}
	s.mu.Unlock()
	if s.On != nil || l.group.Len() == 0 && !errors.Is(err, conn.ErrStuck) {
		s.release()
		return err
	}
	bubble.Go(func() {
		_ = l.group.Wait(context.Background()) // returns also when the workers have stopped
		s.release()                            // waits for a worker that is stuck
	})
	return err
}
