package server_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func TestListenAndServeServesUntilShutdown(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, Workers: workers})
		require.Equal(t, backend, s.Group().Backend())
		require.Equal(t, workers, s.Group().Runtime().Workers())
		c := s.dial()
		roundTrip(t, c, "hello")
		require.Empty(t, s.served)
		require.NoError(t, s.Shutdown(t.Context()))
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
		require.ErrorIs(t, server.ErrServerClosed, net.ErrClosed)
		p, err := io.ReadAll(c)
		require.NoError(t, err, "Base closes in order")
		require.Empty(t, p)
	})
}

func TestNetworkIsTCPByDefault(t *testing.T) {
	conntest.Guard(t)
	listening := make(chan net.Addr, 1)
	s := &server.Server{Handler: echo{}, Addr: ":0", Listening: func(a net.Addr) { listening <- a }}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	addr := conntest.Receive(t, listening).(*net.TCPAddr)
	require.True(t, addr.IP.IsUnspecified())
	require.NotZero(t, addr.Port)
	require.NoError(t, s.Close())
	require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
}

func TestServesOnEveryNetwork(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for network, addr := range map[string]string{
			"tcp": "127.0.0.1:0", "tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": t.TempDir() + "/socket",
		} {
			t.Run(network, func(t *testing.T) {
				conntest.Need(t, network)
				s := run(t, &server.Server{Handler: echo{}, Backend: backend, Network: network, Addr: addr})
				roundTrip(t, s.dial(), "hello")
				require.NoError(t, s.Shutdown(t.Context()))
				require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
				if network == "unix" {
					require.NoFileExists(t, addr, "the path is cleaned up")
				}
			})
		}
	})
}

func TestServeTakesSeveralListenersAndClosesThem(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := &server.Server{Handler: echo{}, Backend: backend, Workers: 2}
		s.ConnConfig.LingerTimeout = 200 * time.Millisecond // its peers leave it to the end of the test
		served := make(chan error, 3)
		var listeners []net.Listener
		addrs := map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": t.TempDir() + "/s"}
		for _, network := range conntest.Networks(t, "tcp4", "tcp6", "unix") {
			addr := addrs[network]
			ln, err := net.Listen(network, addr)
			require.NoError(t, err)
			listeners = append(listeners, ln)
			go func() { served <- s.Serve(ln) }()
		}
		for _, ln := range listeners {
			c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
			require.NoError(t, err)
			defer c.Close()
			roundTrip(t, c, "hello")
		}
		require.NoError(t, s.Shutdown(t.Context()))
		for _, ln := range listeners {
			require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
			_, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
			require.Error(t, err)
		}
		// Serve after Shutdown: refused, and the listener is closed all the same.
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.Equal(t, server.ErrServerClosed, s.Serve(ln))
		_, err = ln.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, server.ErrServerClosed, s.ListenAndServe())
	})
}

type panics struct{ server.Base }

func (panics) OnData(*server.Conn) error { panic("what the default logger tells") }

// The default logger writes to the standard error, from warnings up.
func TestDefaultLogger(t *testing.T) {
	conntest.Guard(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	old := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = old }()
	s := &server.Server{Handler: panics{}, Addr: "127.0.0.1:0"}
	listening := make(chan net.Addr, 1)
	s.Listening = func(a net.Addr) { listening <- a }
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	addr := conntest.Receive(t, listening)
	c, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("x"))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, c)
	require.NoError(t, s.Shutdown(t.Context()))
	require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
	require.NoError(t, w.Close())
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	line, stack, _ := strings.Cut(conntest.Complaints(string(text)), "\n")
	for _, part := range []string{" ERROR conn: handler panicked ", `panic="what the default logger tells"`, "remote=" + c.LocalAddr().String()} {
		require.Contains(t, line, part)
	}
	require.True(t, strings.HasPrefix(stack, "goroutine "), "from warnings up: %s", text)
}

// A setting has one place: the server's own field.
func TestAServerRefusesSettingsOfConnConfigThatItHasItself(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	for name, test := range map[string]struct {
		conn   conn.Config
		server *server.Server
	}{
		"Backend":  {conn.Config{Reactor: reactor.Config{Backend: "epoll"}}, &server.Server{Backend: "epoll"}},
		"Coalesce": {conn.Config{Reactor: reactor.Config{Coalesce: 1}}, &server.Server{Tuning: server.Tuning{Coalesce: 1}}},
		"Logger":   {conn.Config{Logger: logger}, &server.Server{Logger: logger}},
	} {
		for _, s := range []*server.Server{{}, test.server} {
			s.Handler, s.Addr, s.ConnConfig = echo{}, "127.0.0.1:0", test.conn
			s.Listening = func(net.Addr) { go s.Close() } // it should not serve
			err := s.ListenAndServe()
			require.ErrorContains(t, err, name+" is set; set Server.")
			require.ErrorContains(t, err, name+" instead")
			require.NotErrorIs(t, err, server.ErrServerClosed)
		}
	}
}

func TestPanicsGoToTheServersLogger(t *testing.T) {
	conntest.Guard(t)
	var log conntest.Log
	listening := make(chan net.Addr, 1)
	s := &server.Server{Handler: panics{}, Addr: "127.0.0.1:0", Logger: log.Logger(),
		Listening: func(a net.Addr) { listening <- a }}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	c, err := net.Dial("tcp", conntest.Receive(t, listening).String())
	require.NoError(t, err)
	_, err = c.Write([]byte("x"))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, c)
	require.NoError(t, c.Close())
	require.NoError(t, s.Shutdown(context.Background()))
	conntest.Receive(t, served)
	require.Equal(t, 1, log.Count("panicked"))
}

// Workers that busy-poll, and workers that coalesce wake-ups, serve events of the kernel, of
// goroutines and of timers as usual.
func TestWorkersThatBusyPollServeAsBefore(t *testing.T) {
	servesAsEver(t, func(s *server.Server) { s.Tuning.BusyPoll = 50 * time.Microsecond })
}

func TestWorkersThatCoalesceWakeUpsServeAsBefore(t *testing.T) {
	servesAsEver(t, func(s *server.Server) { s.Tuning.Coalesce = 50 * time.Microsecond })
}

func servesAsEver(t *testing.T, set func(*server.Server)) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		asked := &server.Server{Handler: echo{}, Backend: backend, Workers: workers}
		set(asked)
		s := run(t, asked)
		clients := []net.Conn{s.dial(), s.dial(), s.dial()}
		for i := range 300 {
			roundTrip(t, clients[i%len(clients)], "hello")
			task := sched.Go(s.Group().Runtime(), func(cx *sched.Context) (int, error) {
				if i%50 == 0 {
					_, _ = sched.Await(cx, sched.Sleep(time.Millisecond))
				}
				return i, nil
			})
			n, err := sched.Await(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, i, n)
		}
		require.NoError(t, s.Shutdown(t.Context()))
	})
}
