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
	"github.com/suiro-go/suiro/internal/procs"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// The errors of a server that has ended, or is not ready, and of a Pool.
var (
	// ErrServerClosed is the error of Serve and ListenAndServe after Shutdown or Close. It matches
	// net.ErrClosed.
	ErrServerClosed error = serverClosed{}
	// ErrPoolClosed is matched by a Pool's errors after Close. It matches net.ErrClosed.
	ErrPoolClosed error = fmt.Errorf("server: pool: %w", net.ErrClosed)
	// ErrPoolFull is matched by a Pool's error if MaxWaiting callers wait already.
	ErrPoolFull = errors.New("server: pool: too many wait for a connection to this address")
	// ErrBackOff is matched by a Pool's error while it does not dial an address, see Pool.BackOff.
	// The error also matches that of the last dial.
	ErrBackOff = errors.New("server: pool: the address has failed a moment ago")
	// ErrInterrupted is matched by the error of Run if a signal ended an orderly shutdown that ctx
	// or an earlier signal had started. After a server has failed, Run returns that server's error.
	ErrInterrupted = errors.New("server: a signal came before the end in order was over")
	// ErrNotServing is the error of Ready before the server serves.
	ErrNotServing = errors.New("server: does not serve yet")
	// ErrDraining is the error of Ready from the beginning of Shutdown or Close on.
	ErrDraining = errors.New("server: is shutting down")
)

type serverClosed struct{}

func (serverClosed) Error() string { return "server: closed by Shutdown or Close" }
func (serverClosed) Unwrap() error { return net.ErrClosed }

// A Server accepts connections and calls its Handler for them, or serves datagrams with Packets.
// All other fields may be zero. They must not change once the server serves. A Server serves once:
// after Shutdown or Close, make another. It must not be copied. Its methods may be called from any
// goroutine. A handler must not call those that wait: Serve, ListenAndServe, Shutdown and Close.
type Server struct {
	// Addr is the address that ListenAndServe listens on: "host:port", or a path for Network
	// "unix". ":0" is any free port of every interface. "" is an error.
	Addr string

	// Network is "tcp", "tcp4", "tcp6" or "unix", which need a Handler, or "udp", "udp4" or "udp6",
	// which need Packets. "": "tcp".
	Network string

	// Listener, if not nil, is served by ListenAndServe and Run in place of Addr. It may be one of
	// Listeners. It is a *net.TCPListener or *net.UnixListener, and the server closes it.
	Listener net.Listener

	// Handler gets the events of each connection. nil: the server accepts none, and needs Packets
	// or a call of Listen, ListenStream, ListenUnix or ListenUDP.
	Handler Handler

	// Packets gets the events of each packet socket. nil: there are none.
	Packets PacketHandler

	// On is a group made by conn.NewGroup, on whose workers the server runs. Other servers may run
	// on it too. nil: the server makes its own workers. With On, these fields must be zero:
	// Backend, Workers, Tuning, SlowTask, Spares, Events, ConnConfig, Logger, Tickers.
	// Shutdown and Close then end the server's own listeners, connections and packet sockets. The
	// workers, dialed connections and other servers go on: close the group after its servers.
	On *conn.Group

	// Backend is the name of a backend: see reactor.Config. "": the environment variable
	// SUIRO_BACKEND. If neither is set, it is the best one that starts. On Linux it is epoll in
	// these cases: for handlers that are Stackful, as those of Sequential and SessionTasks are, for
	// HTTP, for Listen, ListenStream, ListenUnix and ListenUDP, and with Tuning.Coalesce. A debug
	// line of the log names it.
	Backend string

	// Workers is the number of workers. 0: GOMAXPROCS when the server starts. With neither Handler
	// nor Packets, and with the handler of HTTP, zero means what Listen says. Go sets GOMAXPROCS by
	// the CPU limit of the container if the program's go.mod says go 1.25 or later. A warning is
	// logged once if GOMAXPROCS was set above such a limit by hand.
	Workers int

	// Tuning says how idle workers wait. The zero value suits most servers.
	Tuning Tuning

	// ReusePort makes each worker listen on its own socket (SO_REUSEPORT). The kernel chooses the
	// socket by a hash of the addresses, and a connection stays on the worker that accepts it. That
	// saves a hand-over between workers, but spreads a small number of connections less evenly. For
	// UDP it spreads peers. It has no effect on Windows, and none for Network "unix": there is one
	// socket for all workers.
	ReusePort bool

	// FastOpen is the length of the queue of connections that begin with data (TCP Fast Open). 0:
	// none. On Windows the system chooses the length.
	FastOpen int

	// DeferAccept, if above 0, makes the kernel accept a TCP connection only once its first bytes
	// have arrived (Linux's TCP_DEFER_ACCEPT). One wake-up then serves both, and a client that
	// connects and stays silent costs the server nothing. It is for protocols in which the client
	// speaks first, such as HTTP and TLS; elsewhere it delays OnOpen. The kernel rounds the time up
	// to 1, 3, 7, 15 seconds and so on. A client that is still silent after it is accepted anyway.
	// If the listener is closed before, the client is reset when it speaks. 0: off. It has no
	// effect on other systems.
	DeferAccept time.Duration

	// KeepAlive is the silence after which the kernel probes the peer of a TCP connection, and the
	// interval of its probes, in whole seconds. 0: 15 s. Negative: it does not probe.
	KeepAlive time.Duration

	// ReadBuffer and WriteBuffer are the sizes of the kernel's buffers for each connection, in
	// bytes. 0: the system chooses and adapts them.
	ReadBuffer, WriteBuffer int

	// UnixMode is the mode of a Unix socket's path, such as 0o660. 0: the umask decides. It has no
	// effect on Windows.
	UnixMode fs.FileMode

	// Control, if not nil, is called with each listening socket of ListenAndServe before it is
	// bound, as net.ListenConfig.Control is.
	Control func(network, address string, c syscall.RawConn) error

	// Proxy, if not nil, expects a PROXY protocol header at the beginning of each connection.
	Proxy *ProxyProtocol

	// TLS, if not nil, makes connections speak TLS. The first event of Handler comes after the
	// handshake, and it reads and writes plaintext. Stream.TLS and Conn.TLS return the state. The
	// configuration must have a certificate, or a function that finds one, and must not change
	// while the server serves. It does not apply to Packets. See conn.ServeTLS.
	TLS *tls.Config

	// HandshakeTimeout bounds a TLS handshake. 0: 10 s. Negative: no bound.
	HandshakeTimeout time.Duration

	// MaxHandshakes bounds the number of TLS handshakes that compute at the same time. Further ones
	// wait, within HandshakeTimeout. A handshake that waits for its client does not count. 0: 256
	// for each worker. Negative: no bound.
	MaxHandshakes int

	// SlowTask is how long a run of a handler may take before it is logged, while it still runs,
	// and counted by Group().Stats(): see sched.Config.SlowTask. 0: 10 ms. Negative: never.
	SlowTask time.Duration

	// Spares is the greatest number of spare workers, which serve while handlers keep all workers
	// busy: see sched.Config.Spares. 0: 4. Negative: none.
	Spares int

	// Events is the number of events that each worker keeps for Group().Runtime().Events(): see
	// sched.Config.Events. 0: none.
	Events int

	// Tickers are functions that the server calls at intervals. nil: none.
	Tickers []Ticker

	// ConnConfig configures connections: water marks, limits, time-outs. Its Reactor.Backend,
	// Reactor.Coalesce and Logger must be zero, or the server does not start: Backend,
	// Tuning.Coalesce and Logger of the Server are for these.
	ConnConfig conn.Config

	// Logger gets accept errors, panics of handlers, and the reason why another backend was taken.
	// At debug level it also gets the errors that handlers return, which Group().Stats() counts.
	// nil: lines on the standard error, from level warn.
	Logger *slog.Logger

	// ShutdownTimeout is how long Run waits for an orderly shutdown before it ends the rest at
	// once. 0: 8 s, below the 10 s after which Docker kills a program. Negative: no bound. Shutdown
	// has a context for this.
	ShutdownTimeout time.Duration

	// Listening, if not nil, is called with each address that the server listens on, before it
	// accepts the first connection there.
	Listening func(net.Addr)

	mu         sync.Mutex
	group      *conn.Group
	serving    int      // calls of Serve and ListenAndServe that use group
	handler    Handler  // within the TLS handler, if there is one
	needs      Needs    // of Handler
	members    *members // nil: the group is the server's own
	listeners  map[*conn.Listener]net.Listener
	sockets    map[*keptListener]bool
	packets    []packet.Handle
	datagrams  map[datagramSocket]bool
	goroutines bool // Listen was called: a handler is not needed
	tasks      bool // ListenStream, ListenUnix or ListenUDP was called: a handler is not needed
	stopping   bool
	stopped    chan struct{} // closed when the server starts to stop
	ended      chan struct{} // closed when it has stopped
	scope      sched.TaskScope
}

// ListenAndServe listens on Addr, or takes Listener, and serves until Shutdown or Close. Then it
// returns ErrServerClosed, and the address is free. Any other error says why the server could not
// start or go on. An address in use is tried again for half a second, because io_uring frees the
// sockets of a killed program late.
func (s *Server) ListenAndServe() error {
	if s.Listener != nil {
		return s.serve(s.Listener)
	}
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

// Serve accepts the connections of a *net.TCPListener or *net.UnixListener, and closes the listener
// when it returns. It waits until Shutdown or Close, and then returns ErrServerClosed. Any other
// error says why the server could not start or go on: there is no Handler, the listener is of
// another type, or a worker has failed. It may be called for several listeners at once, each on a
// goroutine of its own.
func (s *Server) Serve(ln net.Listener) error { return s.serve(ln) }

// serve accepts from several listeners on the same address, each on its own worker, or from one
// listener on any worker.
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

// wait blocks while Serve serves.
func (s *Server) wait(group *conn.Group) error {
	select {
	case <-s.stopped:
		return ErrServerClosed
	case <-group.Runtime().Done(): // a driver failed, and has set its error
		if err := group.Close(); err != nil {
			return fmt.Errorf("server: %w", err)
		}
		return ErrServerClosed
	}
}

// Group returns the workers and connections of the server, to dial other connections on the same
// workers and to read statistics. It is nil before the server serves. Any goroutine may call it.
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
	case s.Handler == nil && s.Packets == nil && !s.goroutines && !s.tasks:
		return nil, errors.New("server: Handler is nil; set one")
	case hasNoSessions(s.Packets):
		return nil, errors.New("server: Sessions.Handler is nil; set one")
	case s.Workers < 0:
		return nil, fmt.Errorf("server: Workers is %d; use 0 for one per processor, or more", s.Workers)
	}
	for _, check := range []func() error{s.checkTickers, s.checkTLS, s.checkShared, s.checkConn} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	s.needs = needsOf(s.Handler)
	goProcs := procs.Own()
	group, err := s.workers()
	if err == nil && s.On == nil {
		checkLimit(group.Logger(), goProcs)
	}
	if err == nil && s.Handler == nil && s.Packets == nil && s.On == nil && !s.tasks {
		err = bubble.Call(group.Runtime().Start) // the workers call no function of a handler
	} else if err == nil {
		err = group.Runtime().Start()
	}
	if err != nil {
		return nil, fmt.Errorf("server: %w", groupError(err))
	}
	s.handler = s.overTLS(s.Handler)
	s.group, s.stopped, s.ended = group, make(chan struct{}), make(chan struct{})
	s.listeners = make(map[*conn.Listener]net.Listener)
	s.serving = 1
	s.startTickers(group)
	noteStart(s)
	dumpOnSignal(group.Logger())
	return group, nil
}

// workers returns the group: Server.On, or a new one.
func (s *Server) workers() (*conn.Group, error) {
	if s.On != nil {
		s.members = newMembers()
		return s.On, nil
	}
	cfg := s.ConnConfig
	cfg.Reactor.Backend, cfg.Reactor.Coalesce, cfg.Logger = s.Backend, s.Tuning.Coalesce, s.Logger
	cfg.Reactor.AnyThread = cfg.Reactor.AnyThread || s.stackful()
	if cfg.Logger == nil {
		cfg.Logger = defaultLogger()
	}
	rc := sched.Config{Workers: s.Workers, Hold: s.Tuning.Hold, BusyPoll: s.Tuning.BusyPoll, SlowTask: s.SlowTask, Spares: s.Spares, Events: s.Events}
	if (s.Handler == nil || s.needs.Goroutines) && s.Packets == nil && !s.tasks {
		forGoroutines(&rc)
	}
	return conn.NewGroup(cfg, rc)
}

// release undoes start: it stops the workers if nothing is served. If the server is stopping, stop
// does that.
func (s *Server) release() {
	s.mu.Lock()
	s.serving--
	group := s.group
	if s.stopping || s.serving > 0 {
		group = nil
	} else {
		s.group = nil
		noteEnd(s)
	}
	s.mu.Unlock()
	if group != nil && s.On == nil {
		if err := group.Close(); errors.Is(err, conn.ErrStuck) { // no caller gets this error
			group.Logger().Warn("server: the workers go on until a task returns", "error", err)
		}
	}
}

// stopAccepting undoes accept for listeners that share an address with one that failed.
func (s *Server) stopAccepting(some []net.Listener) {
	var closing []*conn.Listener // each may wait for a worker that is stuck
	s.mu.Lock()
	for l, ln := range s.listeners {
		if slices.Contains(some, ln) && !s.stopping {
			delete(s.listeners, l)
			closing = append(closing, l)
		}
	}
	s.mu.Unlock()
	for _, l := range closing {
		_ = l.Close()
	}
}

// accept accepts from a listener, unless the server is stopping: stop would miss a listener that is
// added later.
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
