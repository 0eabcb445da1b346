package server_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// unixListener is a server that has one listener of goroutines, on a path, and nothing else.
func unixListener(t *testing.T, backend string) (s *server.Server, ln net.Listener, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	s = &server.Server{Backend: backend, Workers: 1, Logger: new(conntest.Log).Logger()}
	ln, err := s.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	require.FileExists(t, path)
	return s, ln, path
}

// requireNothingLeft: a listener that was closed has left neither its path nor its workers.
func requireNothingLeft(t *testing.T, s *server.Server, group *conn.Group, ln net.Listener, path string) {
	t.Helper()
	require.NoFileExists(t, path)
	requireOpError(t, ln.Close(), "close", net.ErrClosed)
	conntest.Receive(t, group.Runtime().Done())
	conntest.Eventually(t, func() bool { return s.Group() == nil })
}

// Close may find the socket of a stuck worker in use: that is its error, and nothing more.
func TestAListenerWhoseWorkerIsStuckLeavesNothing(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s, ln, path := unixListener(t, backend)
		group := s.Group()
		in, out := make(chan bool), make(chan bool)
		sched.Go(group.Runtime(), func(*sched.Context) (bool, error) {
			close(in)
			<-out
			return true, nil
		})
		conntest.Receive(t, in)
		restore := conntest.NoDescriptors(t)
		err := ln.Close()
		restore()
		close(out)
		if err != nil && !errors.Is(err, conn.ErrStuck) {
			t.Fatal(err)
		}
		requireNothingLeft(t, s, group, ln, path)
	})
}

// The workers may end before the listener does, as when one fails.
func TestAListenerThatOutlivesItsWorkersLeavesNothing(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s, ln, path := unixListener(t, backend)
		group := s.Group()
		require.NoError(t, group.Stop(context.Background()))
		_, err := ln.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, ln.Close(), net.ErrClosed)
		requireNothingLeft(t, s, group, ln, path)
	})
}
