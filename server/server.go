package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// ErrServerClosed is what Serve and ListenAndServe return after Shutdown or
// Close. It matches net.ErrClosed.
var ErrServerClosed error = serverClosed{}

type serverClosed struct{}

func (serverClosed) Error() string { return "server: closed by Shutdown or Close" }
func (serverClosed) Unwrap() error { return net.ErrClosed }

// A Server serves connections with a Handler. The fields must not change once
// it serves; the zero value of each but Handler is useful. A server serves once:
// after Shutdown or Close, make another. It must not be copied.
type Server struct {
	// Addr is what ListenAndServe listens on: "host:port", or a path for
	// Network "unix"; ":0" is any free port of every interface. "": an error.
	Addr string

	// Network is "tcp", "tcp4", "tcp6" or "unix", for which Handler is needed, or
	// "udp", "udp4" or "udp6", for which Packets is. "": "tcp".
	Network string

	// Handler is told what happens to each connection.
	Handler Handler

	// Packets is told what happens to each packet socket. nil: there are none.
	Packets PacketHandler

	// On is the group on whose workers the server runs, perhaps beside other servers, made
	// by conn.NewGroup. nil: the server makes workers of its own. Fields
	// that are the group's business must not be set then: Backend, Workers, Hold, BusyPoll,
	// Coalesce, Conn, Logger and Tickers. Shutdown and Close end the server's own listeners,
	// connections and packet sockets, and leave the workers, what was dialed, and everything
	// of others: the group is closed by whoever made it, after its servers.
	On *conn.Group

	// Backend forces one, see reactor.Config. "": the environment variable
	// SUIRO_BACKEND, else the best one that starts, which the log tells.
	Backend string

	// Workers is the number of workers. 0: GOMAXPROCS; with neither Handler nor
	// Packets, or with that of HTTP, see Listen.
	Workers int

	// Hold is how long a worker without work keeps its processor before it
	// blocks. 0: 1 ms; negative: not at all. See sched.Config.
	Hold time.Duration

	// BusyPoll is how long a worker without work looks for news before it waits, while that
	// is of use. 0: not at all; at most a millisecond. See sched.Config.
	BusyPoll time.Duration

	// Coalesce is for how long a worker without work, to which nothing has come yet, lets it
	// gather, while much comes: less CPU time for so much latency. 0: not at all; at most a
	// millisecond. It has epoll taken on Linux if no backend is forced, and does nothing with
	// another one, and where workers only wake goroutines (see Listen). See reactor.Config.
	Coalesce time.Duration

	// ReusePort has each worker listen on a socket of its own (SO_REUSEPORT), among
	// which the kernel spreads new connections by a hash of their addresses, and
	// keep those it accepts. It spares connections a way between workers, and
	// spreads few of them less evenly. For UDP it spreads peers. Not for Network "unix",
	// and not on Windows, where one socket is all the workers', as without it.
	ReusePort bool

	// FastOpen is the length of the queue of connections that begin with data (TCP
	// Fast Open). 0: none. On Windows its length is the system's.
	FastOpen int

	// DeferAccept, if above 0, has the kernel keep a TCP connection until its first bytes are there, so that the server is
	// woken once for both, and who connects and says nothing costs no more than the kernel's note of it (Linux's
	// TCP_DEFER_ACCEPT, the "deferred" and "defer-accept" of nginx and haproxy). It is for servers whose clients
	// speak first, as those of HTTP and TLS do: OnOpen comes later for others. Who is still silent then, from a second
	// on and in steps of 1, 3, 7, 15 seconds and so on, is accepted all the same, soon after; once the listener is
	// closed, who then speaks is reset. 0: not at all. Elsewhere it does nothing.
	DeferAccept time.Duration

	// KeepAlive is after how much silence, and then how often, the kernel probes
	// the peer of a TCP connection, in whole seconds. 0: 15 s. Negative: never.
	KeepAlive time.Duration

	// ReadBuffer and WriteBuffer are the sizes of the kernel's buffers of each
	// connection, in bytes. 0: the system's choice, which adapts them.
	ReadBuffer, WriteBuffer int

	// UnixMode is the mode of a Unix socket's path, such as 0o660. 0: what the
	// umask leaves. Not on Windows, where a path has none.
	UnixMode fs.FileMode

	// Control, if not nil, is called with each listening socket that
	// ListenAndServe makes before it is bound, as net.ListenConfig.Control is.
	Control func(network, address string, c syscall.RawConn) error

	// Proxy, if not nil, has each connection begin with a PROXY protocol header.
	Proxy *ProxyProtocol

	// TLS, if not nil, has connections speak TLS: Handler is called when hands are
	// shaken, and sees plaintext; Stream.TLS and Conn.TLS have the state. It must have
	// a certificate, or a function that finds one, and must not be changed while the
	// server serves. See conn.ServeTLS. Packets are as they are without it.
	TLS *tls.Config

	// HandshakeTimeout bounds TLS handshakes. 0: 10 s. Negative: not at all.
	HandshakeTimeout time.Duration

	// MaxHandshakes bounds the TLS handshakes that compute at a time; others wait for
	// their turn, within the time-out. One that waits for its client does not count.
	// 0: 256 for each worker. Negative: no bound.
	MaxHandshakes int

	// Tickers are what the server does at intervals.
	Tickers []Ticker

	// Conn configures connections: water marks, limits, the linger time.
	Conn conn.Config

	// Logger hears of accept errors, of panics in handlers and of a fall-back
	// to another backend; at debug level also of the errors that handlers return, which
	// Group().Stats() counts. nil: zerolog to the standard error, from warnings up.
	Logger *slog.Logger

	// Listening, if not nil, is called with each address that the server
	// listens on, before it accepts the first connection there.
	Listening func(net.Addr)

	mu         sync.Mutex
	group      *conn.Group
	serving    int      // calls of Serve and ListenAndServe that use group
	handler    Handler  // within TLS, if there is one
	needs      Needs    // of Handler
	members    *members // nil: the group is the server's own
	listeners  map[*conn.Listener]net.Listener
	sockets    map[*socketListener]bool
	packets    []packet.Handle
	goroutines bool // Listen was called: a handler is not needed
	stopping   bool
	stopped    chan struct{} // closed when the server starts to stop
}

// ListenAndServe listens on Addr and serves until Shutdown or Close, and then
// returns ErrServerClosed; another error says why it could not start. An address in use is
// tried again for half a second, because io_uring frees the sockets of a killed program late.
// When it returns after Shutdown or Close, it listens no more.
func (s *Server) ListenAndServe() error {
	network := s.Network
	if network == "" {
		network = "tcp"
	}
	group, err := s.start()
	if err != nil {
		return err
	}
	defer s.release()
	if s.Addr == "" {
		return errors.New("server: Addr is empty; set one, such as 127.0.0.1:8080, or :0 for any free port")
	}
	if isPacketNetwork(network) {
		all, err := s.listenPackets(network, s.Addr, group.Runtime().Workers())
		if err != nil {
			return err
		}
		return s.servePackets(all...)
	}
	all, err := s.listen(network, s.Addr, group.Runtime().Workers())
	if err != nil {
		return err
	}
	return s.serve(all...)
}

// Serve serves the connections of a *net.TCPListener or *net.UnixListener,
// which it closes on return. It may be called for several listeners.
func (s *Server) Serve(ln net.Listener) error { return s.serve(ln) }

// serve accepts from several listeners on the same address, each on a worker of its
// own, or from one on any.
func (s *Server) serve(all ...net.Listener) error {
	defer closeAll(all)
	group, err := s.start()
	if err != nil {
		return err
	}
	defer s.release()
	if s.Listening != nil {
		s.Listening(all[0].Addr())
	}
	for i, ln := range all {
		worker := conn.AnyWorker
		if len(all) > 1 {
			worker = i
		}
		if err := s.accept(group, ln, worker); err != nil {
			s.stopAccepting(all[:i])
			return err
		}
	}
	return s.wait(group)
}

// wait is what Serve does while it serves.
func (s *Server) wait(group *conn.Group) error {
	select {
	case <-s.stopped:
		return ErrServerClosed
	case <-group.Runtime().Done(): // a driver failed, and said why
		if err := group.Close(); err != nil {
			return fmt.Errorf("server: %w", err)
		}
		return ErrServerClosed
	}
}

// Group is what the server's connections belong to, for dialling others on the
// same workers and for what runs; nil before it serves.
func (s *Server) Group() *conn.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.group
}

// start makes the workers, once.
func (s *Server) start() (*conn.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return nil, ErrServerClosed
	case s.group != nil:
		s.serving++
		return s.group, nil
	case s.Handler == nil && s.Packets == nil && !s.goroutines:
		return nil, errors.New("server: Handler is nil; set one")
	case s.Workers < 0:
		return nil, fmt.Errorf("server: Workers is %d; use 0 for one per processor, or more", s.Workers)
	}
	for _, check := range []func() error{s.checkTickers, s.checkTLS, s.checkShared} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	s.needs = needsOf(s.Handler)
	group, err := s.workers()
	if err == nil && s.Handler == nil && s.Packets == nil && s.On == nil {
		err = bubble.Call(group.Runtime().Start) // no function of a handler is called by the workers
	} else if err == nil {
		err = group.Runtime().Start()
	}
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.handler = s.overTLS(s.Handler)
	s.group, s.stopped = group, make(chan struct{})
	s.listeners = make(map[*conn.Listener]net.Listener)
	s.serving = 1
	s.startTickers(group)
	return group, nil
}

// workers is the group: that which is given, or a new one.
func (s *Server) workers() (*conn.Group, error) {
	if s.On != nil {
		s.members = newMembers()
		return s.On, nil
	}
	cfg := s.Conn
	if s.Backend != "" {
		cfg.Reactor.Backend = s.Backend
	}
	if s.Coalesce != 0 {
		cfg.Reactor.Coalesce = s.Coalesce
	}
	if s.Logger != nil {
		cfg.Logger = s.Logger
	}
	if cfg.Logger == nil {
		cfg.Logger = defaultLogger()
	}
	rc := sched.Config{Workers: s.Workers, Hold: s.Hold, BusyPoll: s.BusyPoll}
	if (s.Handler == nil || s.needs.Goroutines) && s.Packets == nil {
		forGoroutines(&rc)
	}
	return conn.NewGroup(cfg, rc)
}

// release ends what start began: it stops the workers again if nothing is
// served after all. If the server is stopping, stop does that.
func (s *Server) release() {
	s.mu.Lock()
	s.serving--
	group := s.group
	if s.stopping || s.serving > 0 {
		group = nil
	} else {
		s.group = nil
	}
	s.mu.Unlock()
	if group != nil && s.On == nil {
		if err := group.Close(); errors.Is(err, conn.ErrStuck) { // nobody else hears of it
			group.Logger().Warn("server: the workers go on until a task returns", "error", err)
		}
	}
}

// stopAccepting takes accept back, for some that share an address with one that failed.
func (s *Server) stopAccepting(some []net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l, ln := range s.listeners {
		if slices.Contains(some, ln) && !s.stopping {
			delete(s.listeners, l)
			_ = l.Close()
		}
	}
}

// accept accepts from a listener, unless the server is stopping: a connection
// that came after stop would not be told.
func (s *Server) accept(group *conn.Group, ln net.Listener, worker int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return ErrServerClosed
	}
	h := s.handler
	switch {
	case h == nil:
		return errors.New("server: Handler is nil; set one to serve connections")
	case s.Proxy != nil:
		h = s.Proxy.Handler(h)
	}
	l, err := group.ListenOn(worker, ln, s.members.of(h))
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.listeners[l] = ln
	return nil
}
