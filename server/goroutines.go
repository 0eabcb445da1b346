package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// Listen is the Listen of a Server with nothing but zero values.
//
// Listeners, connections and dialers work within a bubble of testing/synctest as those of package
// net do: deadlines and time-outs are real time, and the bubble's time stands still while a
// goroutine waits for the network. Package servertest has listeners and connections in memory,
// with which the bubble's time passes.
//
// The workers are outside the bubble, and so is a Handler that a Dialer without a Group is given:
// it must not use channels, timers or WaitGroups of the bubble, or the runtime ends the process.
// The workers of a Server with a Handler or Packets are inside, and its handlers may use them. Such
// a bubble's time stands still, and synctest.Wait does not return, until the Server is closed.
func Listen(network, addr string) (net.Listener, error) { return new(Server).Listen(network, addr) }

// Listen listens for ordinary goroutines: the connections that Accept returns, each a
// *Socket, block the goroutines that read and write them, as those of package net do,
// while the server's workers do the input and output. So whatever serves a
// net.Listener can serve this one: net/http, crypto/tls, gRPC.
//
// network is "tcp", "tcp4", "tcp6" or "unix". As with net.Listen, an empty addr is any free port
// of every interface, and each error is a *net.OpError. The server's configuration applies, but
// for Handler, which is not needed, and Addr and Network. It may be called several
// times, and beside Serve. With TLS, each connection is a *tls.Conn over a *Socket, which
// shakes hands when it is first read or written, as one of tls.Listen does.
//
// A server that has neither Handler nor Packets when it starts does little for each
// message but wake a goroutine. So its workers share threads with goroutines
// (sched.Config.Unlocked), on the epoll backend unless io_uring is forced, and 0
// Workers means one for each four processors.
//
// Closing the listener leaves connections alone, as with package net; when the last
// one has ended as well, and nothing else is served, the workers stop. Shutdown closes
// the listener and then waits for the connections, whose goroutines it does not tell:
// what serves them has a shutdown of its own, which comes first. Close resets them.
func (s *Server) Listen(network, addr string) (net.Listener, error) {
	l, err := s.listenForGoroutines(network, addr)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	return l, nil
}

func (s *Server) listenForGoroutines(network, addr string) (net.Listener, error) {
	group, err := s.startForGoroutines()
	if err != nil {
		return nil, err
	}
	all, err := s.listen(network, addr, group.Runtime().Workers())
	if err != nil {
		s.release()
		return nil, err
	}
	return s.goOnListening(group, all)
}

// NewListener is Listen on a socket that listens already: a *net.TCPListener or
// *net.UnixListener, such as one that Listeners returned. It takes ln over, also with an error.
func (s *Server) NewListener(ln net.Listener) (net.Listener, error) {
	var l net.Listener
	group, err := s.startForGoroutines()
	if err == nil {
		l, err = s.goOnListening(group, []net.Listener{ln})
	}
	if err != nil {
		_ = ln.Close() // goOnListening may have closed it
		return nil, listenError(ln.Addr().Network(), ln.Addr().String(), err)
	}
	return l, nil
}

// goOnListening is Listen once it has sockets, and begun to use the group.
func (s *Server) goOnListening(group *conn.Group, all []net.Listener) (net.Listener, error) {
	l, err := s.openListener(group, all)
	if err != nil {
		closeAll(all)
		s.release()
		return nil, err
	}
	if s.Listening != nil {
		s.Listening(l.Addr())
	}
	if s.TLS != nil {
		return tls.NewListener(l, s.TLS), nil
	}
	return l, nil
}

// forGoroutines is the default for servers that serve nothing else.
func forGoroutines(rc *sched.Config) {
	rc.Unlocked = true
	rc.Workers = cmp.Or(rc.Workers, (runtime.GOMAXPROCS(0)+3)/4)
}

func (s *Server) startForGoroutines() (*conn.Group, error) {
	s.mu.Lock()
	s.goroutines = true
	s.mu.Unlock()
	return s.start()
}

func (s *Server) openListener(group *conn.Group, all []net.Listener) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping { // stop would not know of it
		return nil, ErrServerClosed
	}
	var cfg conn.SocketListenerConfig
	cfg.First = func(h Handler) Handler {
		if s.Proxy != nil {
			h = s.Proxy.Handler(h)
		}
		return s.members.of(h)
	}
	inner, err := group.OpenListener(cfg, all...)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	l := &socketListener{SocketListener: inner, server: s, group: group}
	if all[0].Addr().Network() == "unix" {
		l.path = all // closing it removes that
	} else {
		closeAll(all) // the group has descriptors of its own, and Go's poller need not hear of connections
	}
	if s.sockets == nil {
		s.sockets = make(map[*socketListener]bool)
	}
	s.sockets[l] = true
	return l, nil
}

// A socketListener keeps the workers running for as long as they are needed.
type socketListener struct {
	*conn.SocketListener
	server  *Server
	group   *conn.Group
	path    []net.Listener
	stopped atomic.Bool
}

// stop is the part of Close that the server's end has too. first is false if it was called
// before. Whatever the error, the path is gone then: nobody tries again.
func (l *socketListener) stop() (first bool, err error) {
	first = !l.stopped.Swap(true)
	err = l.SocketListener.Close()
	if first {
		closeAll(l.path)
	}
	return first, err
}

// Close implements net.Listener. With an error too the listener is the server's no longer.
func (l *socketListener) Close() error {
	first, err := l.stop()
	if !first {
		return err
	}
	s := l.server
	s.mu.Lock()
	if !s.stopping { // else stop goes through them
		delete(s.sockets, l)
	}
	s.mu.Unlock()
	if s.On != nil || l.group.Len() == 0 && !errors.Is(err, conn.ErrStuck) {
		s.release()
		return err
	}
	bubble.Go(func() {
		_ = l.group.Wait(context.Background()) // or the workers have stopped
		s.release()                            // which waits for a worker that is stuck
	})
	return err
}
