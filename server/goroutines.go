package server

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/procs"
	"github.com/suiro-go/suiro/sched"
)

// Listen is Server.Listen of a Server with zero values.
//
// In a bubble of testing/synctest, listeners, connections and dialers behave as those of package
// net. Deadlines and time-outs are real time, and the bubble's time stands still while a goroutine
// waits for the network. Package servertest has listeners and connections in memory, with which the
// bubble's time passes.
//
// The workers are outside the bubble. So are the calls of a Handler of a Dialer without a Group.
// Such a Handler must not use channels, timers or WaitGroups of the bubble, or the runtime ends the
// process. The workers of a Server with a Handler or Packets are inside, and its handlers may use
// them. Such a bubble's time stands still, and synctest.Wait does not return, until the Server is
// closed.
func Listen(network, addr string) (net.Listener, error) { return new(Server).Listen(network, addr) }

// Listen listens for ordinary goroutines. Accept returns each connection as a *Socket. Its reads
// and writes block the calling goroutine, as those of package net do, while the server's workers do
// the input and output. So code that takes a net.Listener can use it: net/http, crypto/tls, gRPC.
//
// network is "tcp", "tcp4", "tcp6" or "unix". As with net.Listen, an empty addr is any free port of
// every interface, and each error is a *net.OpError. The fields of the Server apply, except
// Handler, Addr and Network. A Handler is not needed. Listen may be called several times, and
// beside Serve. With TLS, each connection is a *tls.Conn over a *Socket. The first read or write
// starts the handshake, as with tls.Listen.
//
// A server that has neither Handler nor Packets when it starts does little for each message but
// wake a goroutine. Its workers therefore share threads with goroutines (sched.Config.Unlocked).
// They use the epoll backend, unless io_uring is forced. With Workers 0 there is one worker for
// each four processors.
//
// Close of the listener leaves its connections open, as with package net. When the last connection
// has ended too, and nothing else is served, the workers stop. Server.Shutdown closes the listener
// and then waits for the connections, but does not notify their goroutines. Shut down the code that
// serves them first, for example the http.Server. Server.Close resets the connections.
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
// *net.UnixListener, such as one that Listeners returned. Another type is an error. It takes ln
// over and closes it, after an error at once. Each error is a *net.OpError.
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

// goOnListening is the second part of Listen: the sockets exist, and the group is in use.
func (s *Server) goOnListening(group *conn.Group, all []net.Listener) (net.Listener, error) {
	l, err := s.openListener(group, all, nil)
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

// forGoroutines sets the defaults for servers that only wake goroutines.
func forGoroutines(rc *sched.Config) {
	rc.Unlocked = true
	rc.Workers = cmp.Or(rc.Workers, (procs.Own()+3)/4)
}

func (s *Server) startForGoroutines() (*conn.Group, error) {
	s.mu.Lock()
	s.goroutines = true
	s.mu.Unlock()
	return s.start()
}

func (s *Server) startForTasks() (*conn.Group, error) {
	s.mu.Lock()
	s.tasks = true
	s.mu.Unlock()
	return s.start()
}

// openListener makes the listener. over, if not nil, gets the handler of connections and returns a
// handler around it.
func (s *Server) openListener(group *conn.Group, all []net.Listener, over func(Handler) Handler) (*socketListener, error) {
	var cfg conn.SocketListenerConfig
	cfg.First = func(h Handler) Handler {
		if over != nil {
			h = over(h)
		}
		if s.Proxy != nil {
			h = s.Proxy.Handler(h)
		}
		return s.members.of(h)
	}
	inner, err := group.ListenSocket(cfg, all...)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	kept, err := s.keep(group, inner, all)
	if err != nil {
		return nil, err
	}
	return &socketListener{inner, kept}, nil
}

// A socketListener is a listener of the server.
type socketListener struct {
	*conn.SocketListener
	kept *keptListener
}

// Close implements net.Listener.
func (l *socketListener) Close() error { return l.kept.Close() }
