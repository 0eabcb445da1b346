package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// onListeners runs a test on servers for goroutines of each backend: alone, and beside
// a handler, with which workers have threads of their own. All are closed after it.
func onListeners(t *testing.T, test func(t *testing.T, s *server.Server)) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, h := range map[string]server.Handler{"alone": nil, "beside a handler": echo{}} {
			t.Run(name, func(t *testing.T) {
				conntest.Guard(t)
				log := &conntest.Log{}
				s := &server.Server{Backend: backend, Handler: h, Logger: log.Logger()}
				s.ConnConfig.LingerTimeout = 200 * time.Millisecond
				t.Cleanup(func() { _ = s.Close() })
				conntest.Report(t, log.String)
				test(t, s)
			})
		}
	})
}

func listen(t *testing.T, s *server.Server) net.Listener {
	t.Helper()
	ln, err := s.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// dialVia dials as net.Dialer.DialContext does, over the server's own workers.
func dialVia(s *server.Server) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		a, err := net.ResolveTCPAddr(network, addr)
		if err != nil {
			return nil, err
		}
		return s.Group().DialSocketContext(ctx, a)
	}
}

// The workers stop when the listener is closed and the last connection gone, not before.
func TestWorkersStopWithTheListenerAndItsConnections(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		for range 2 { // it can be used again
			ln := listen(t, s)
			c, err := net.Dial("tcp", ln.Addr().String())
			require.NoError(t, err)
			a, err := ln.Accept()
			require.NoError(t, err)
			group := s.Group()
			accept := make(chan error, 1)
			go func() { _, err := ln.Accept(); accept <- err }()
			require.NoError(t, ln.Close())
			requireOpError(t, conntest.Receive(t, accept), "accept", net.ErrClosed)
			requireOpError(t, ln.Close(), "close", net.ErrClosed)
			_, err = net.Dial("tcp", ln.Addr().String())
			require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)

			for range 3 { // the connection lives on
				_, err = c.Write([]byte("hello"))
				require.NoError(t, err)
				p := make([]byte, 5)
				_, err = io.ReadFull(a, p)
				require.NoError(t, err)
				require.Equal(t, "hello", string(p))
			}
			require.NoError(t, a.Close())
			require.NoError(t, c.Close())
			select {
			case <-group.Runtime().Done():
			case <-time.After(conntest.Patience):
				t.Fatal("the workers run on\n", conntest.Dump())
			}
			conntest.Eventually(t, func() bool { return s.Group() == nil })
		}
		ln := listen(t, s)
		group := s.Group()
		require.NoError(t, ln.Close()) // without any connection
		<-group.Runtime().Done()
		require.Nil(t, s.Group())
	})
}

func requireOpError(t *testing.T, err error, op string, is error) {
	t.Helper()
	var oe *net.OpError
	require.ErrorAs(t, err, &oe)
	require.Equal(t, op, oe.Op)
	require.ErrorIs(t, err, is)
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		ln := listen(t, s)
		_, err := s.Listen("tcp", ln.Addr().String())
		require.ErrorIs(t, conn.Portable(err), syscall.EADDRINUSE)
		_, err = s.Listen("tcp", "nonsense")
		require.ErrorContains(t, err, "use host:port")
		_, err = s.Listen("udp", "127.0.0.1:0")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.NoError(t, s.Close())
		_, err = ln.Accept()
		requireOpError(t, err, "accept", net.ErrClosed)
		_, err = s.Listen("tcp", "127.0.0.1:0")
		require.ErrorIs(t, err, server.ErrServerClosed)
	})
	conntest.Guard(t)
	_, err := server.Listen("tcp", "nonsense")
	require.ErrorContains(t, err, "use host:port")
}

func TestListenOnEveryNetwork(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		path := filepath.Join(t.TempDir(), "s")
		addrs := map[string]string{"tcp": "127.0.0.1:0", "tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": path}
		for _, network := range conntest.Networks(t, "tcp", "tcp4", "tcp6", "unix") {
			addr := addrs[network]
			if network == "unix" {
				stale(t, path)
			}
			ln, err := s.Listen(network, addr)
			require.NoError(t, err, network)
			c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
			require.NoError(t, err)
			a, err := ln.Accept()
			require.NoError(t, err)
			require.Equal(t, ln.Addr().String(), a.LocalAddr().String())
			_, err = a.Write([]byte("hello\n"))
			require.NoError(t, err)
			line, err := bufio.NewReader(c).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "hello\n", line)
			require.NoError(t, c.Close())
			require.NoError(t, a.Close())
			require.NoError(t, ln.Close())
		}
		require.NoFileExists(t, path)
	})
}

// Shutdown waits for those who have connections, and resets them only when it may not
// wait any longer.
func TestShutdownWaitsForGoroutines(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		ln := listen(t, s)
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		a, err := ln.Accept()
		require.NoError(t, err)
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(t.Context()) }()
		_, err = ln.Accept()
		requireOpError(t, err, "accept", net.ErrClosed)
		_, err = a.Write([]byte("the end"))
		require.NoError(t, err)
		require.NoError(t, a.Close())
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "the end", string(p))
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, down))
	})
	onListeners(t, func(t *testing.T, s *server.Server) {
		ln := listen(t, s)
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		a, err := ln.Accept()
		require.NoError(t, err)
		end := make(chan error, 1)
		go func() { _, err := a.Read(make([]byte, 1)); end <- err }()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
		requireOpError(t, conntest.Receive(t, end), "read", net.ErrClosed)
		_, err = c.Read(make([]byte, 1))
		requireReset(t, err)
	})
}

func TestSocketsBehindAProxyKnowTheClient(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		s.Proxy = &server.ProxyProtocol{Trust: loopback}
		ln := listen(t, s)
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write(append(headerOf(t, 2), "hello"...))
		require.NoError(t, err)
		a, err := ln.Accept()
		require.NoError(t, err)
		defer a.Close()
		require.Equal(t, "192.0.2.7:4711", a.RemoteAddr().String())
		p := make([]byte, 5)
		_, err = io.ReadFull(a, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
	})
}

func TestReusePortSpreadsSocketsOverListeners(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		s.ReusePort, s.Workers = true, 3
		ln := listen(t, s)
		conntest.Each(t, 50, func(int) error {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			a, err := ln.Accept()
			if err != nil {
				return err
			}
			return a.Close()
		})
	})
}
