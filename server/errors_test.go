package server_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/server"
)

// requireAdvice checks that an error is one line that says what to do.
func requireAdvice(t *testing.T, err error, advice string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.True(t, strings.HasPrefix(err.Error(), "server: "), err)
	require.Contains(t, err.Error(), advice)
	require.LessOrEqual(t, strings.Count(err.Error(), "server: "), 1, err)
}

func TestErrorsOfListenAndServeSayWhatToDo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken := conntest.Listen(t)
		type failure struct {
			network, addr string
			is            error
			advice        string
		}
		failures := map[string]failure{
			"address in use":  {"tcp", taken.Addr().String(), syscall.EADDRINUSE, "choose another address"},
			"not our address": {"tcp", "192.0.2.1:0", syscall.EADDRNOTAVAIL, "use an address of this machine"},
			"no port":         {"tcp", "127.0.0.1", nil, "use host:port"},
			"port too large":  {"tcp", "127.0.0.1:65536", nil, "use host:port"},
			"unknown port":    {"tcp", "127.0.0.1:nosuchservice", nil, "use host:port"},
			"unknown network": {"sctp", "127.0.0.1:0", errors.ErrUnsupported, "use tcp, tcp4, tcp6, unix, udp"},
		}
		if len(conntest.Networks(t, "unix")) > 0 {
			failures["no such directory"] = failure{"unix", "/nonexistent/socket", syscall.ENOENT, "no such file"}
			failures["path in use"] = failure{"unix", "/", syscall.EADDRINUSE, "choose another address"}
		}
		for name, c := range failures {
			t.Run(name, func(t *testing.T) {
				s := &server.Server{Handler: echo{}, Backend: backend, Network: c.network, Addr: c.addr}
				err := s.ListenAndServe()
				requireAdvice(t, err, c.advice)
				if c.is != nil {
					require.ErrorIs(t, err, c.is)
				}
				require.Nil(t, s.Group(), "the workers are gone")
				// It did not serve, so it still can.
				s.Network, s.Addr = "tcp", "127.0.0.1:0"
				roundTrip(t, run(t, s).dial(), "after all")
			})
		}
	})
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	conntest.Guard(t)
	for name, c := range map[string]struct {
		s      *server.Server
		is     error
		advice string
	}{
		"no handler":      {&server.Server{}, nil, "Handler is nil; set one"},
		"unknown backend": {&server.Server{Handler: echo{}, Backend: "dpdk"}, errors.ErrUnsupported, "use " + strings.Join(reactor.Backends(), " or ")},
		"no address":      {&server.Server{Handler: echo{}}, nil, "set one, such as 127.0.0.1:8080, or :0"},
		"workers":         {&server.Server{Handler: echo{}, Workers: -1}, nil, "use 0 for one per processor"},
		"conn":            {&server.Server{Handler: echo{}, ConnConfig: conn.Config{MaxRead: -1}}, nil, "use at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.s.ListenAndServe()
			requireAdvice(t, err, c.advice)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.NoError(t, c.s.Shutdown(t.Context()), "there is nothing to wait for")
			require.Equal(t, server.ErrServerClosed, c.s.ListenAndServe())
		})
	}
}

// One driver of several fails, or all do: either is one error of one line.
func TestADriverThatCannotStartFailsTheServer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, workers := range []int{1, 4} {
			s := &server.Server{Handler: echo{}, Addr: "127.0.0.1:0", Backend: backend, Workers: workers}
			s.ConnConfig.Reactor = reactor.Config{Buffers: 32768, BufferSize: 1 << 24} // half a terabyte
			err := s.ListenAndServe()
			require.ErrorIs(t, conn.Portable(err), syscall.ENOMEM)
			requireAdvice(t, err, backend+" cannot start")
			require.Nil(t, s.Group())
		}
	})
}

func TestServeRefusesAListenerWithoutADescriptor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		s := &server.Server{Handler: echo{}, Backend: backend}
		err = s.Serve(struct{ net.Listener }{ln})
		requireAdvice(t, err, "use a *net.TCPListener")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		_, err = ln.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

// A listener that fails does not take down the one that serves.
func TestAServeThatFailsLeavesTheOthersAlone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.Error(t, s.Serve(struct{ net.Listener }{ln}))
		roundTrip(t, s.dial(), "still here")
	})
}
