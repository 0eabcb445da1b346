package server_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// backlog is how many connections the kernel keeps for a listening socket.
func backlog(t *testing.T, ln net.Listener) (n uint32) {
	t.Helper()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		info, infoErr := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err = infoErr; err == nil {
			n = info.Unacked // that is what it says of one that listens
		}
	}))
	require.NoError(t, err)
	return n
}

// A worker may be so slow that the listeners are closed without it. Connections that its reactor
// had accepted by then are served in order nevertheless.
func TestShutdownServesWhatASlowWorkerHadAccepted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		shutdownWithASlowWorker(t, backend, &server.Server{
			Handler: &echo{}, Backend: backend, Workers: 1, Logger: new(conntest.Log).Logger(),
		})
	})
}

// So it is where other servers go on with the worker.
func TestShutdownOnASharedGroupServesWhatASlowWorkerHadAccepted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		shutdownWithASlowWorker(t, backend, &server.Server{Handler: &echo{}, On: sharedGroup(t, backend, 1)})
	})
}

func shutdownWithASlowWorker(t *testing.T, backend string, srv *server.Server) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listening, served := make(chan bool, 1), make(chan error, 1)
	srv.Listening = func(net.Addr) { listening <- true }
	go func() { served <- srv.Serve(ln) }()
	conntest.Receive(t, listening)
	t.Cleanup(func() { _ = srv.Close() })
	dial := func() net.Conn {
		c, err := net.DialTimeout("tcp", ln.Addr().String(), conntest.Patience)
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		return c
	}
	first := dial() // once it is served, an accept is in flight
	roundTrip(t, first, "x")
	require.NoError(t, first.Close())
	conntest.Eventually(t, func() bool { return srv.Group().Len() == 0 })
	in, out := make(chan bool), make(chan bool)
	release := sync.OnceFunc(func() { close(out) })
	t.Cleanup(release)
	sched.Go(srv.Group().Runtime(), func(*sched.Context) (bool, error) {
		close(in)
		<-out
		return true, nil
	})
	conntest.Receive(t, in)
	late := dial()
	defer late.Close()
	_, err = late.Write([]byte("y"))
	require.NoError(t, err)
	if backend == "io_uring" { // it accepts on the thread of the worker, also while that blocks
		conntest.Eventually(t, func() bool { return backlog(t, ln) == 0 })
	}
	accepted := backlog(t, ln) == 0
	ended := make(chan error, 1)
	go func() { ended <- srv.Shutdown(context.Background()) }()
	require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
	select {
	case err := <-ended:
		t.Fatal("the worker has not ended the accept, and Shutdown returned", err)
	case <-time.After(20 * time.Millisecond): // for code that would not wait
	}
	release()
	if accepted {
		got, err := io.ReadAll(late)
		require.NoError(t, err)
		require.Equal(t, "y", string(got))
	}
	require.NoError(t, conntest.Receive(t, ended))
}
