package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// Accepts have the errors of package net: when ctx ends, with its cause, and after the server's
// end, in a goroutine and in a task.
func TestAcceptsEndWithTheErrorsOfPackageNet(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no files pass over Unix sockets")
	}
	s := &server.Server{Workers: 1}
	streams, err := s.ListenStream("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	units, err := s.ListenUnix(filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	elsewhere := sched.New(sched.Config{Workers: 1})
	t.Cleanup(func() { require.NoError(t, elsewhere.Close()) })
	errTired := errors.New("tired")
	for name, accept := range map[string]func(ctx context.Context) error{
		"Stream":     func(ctx context.Context) error { _, err := streams.Accept(ctx); return err },
		"UnixStream": func(ctx context.Context) error { _, err := units.Accept(ctx); return err },
	} {
		check := func(of context.Context) (whenTired, whenCanceled error) {
			ctx, cancel := context.WithTimeoutCause(of, time.Millisecond, errTired)
			defer cancel()
			whenTired = accept(ctx)
			ctx, cancel = context.WithCancel(of)
			cancel()
			return whenTired, accept(ctx)
		}
		verify := func(whenTired, whenCanceled error) {
			t.Helper()
			var oe *net.OpError
			require.ErrorAs(t, whenTired, &oe, name)
			require.True(t, oe.Timeout(), name)
			require.ErrorIs(t, whenTired, os.ErrDeadlineExceeded, name)
			require.ErrorIs(t, whenTired, errTired, name)
			require.ErrorIs(t, whenCanceled, context.Canceled, name)
		}
		verify(check(t.Context()))
		var inTask [2]error
		_, err := sched.Go(elsewhere, func(cx *sched.Context) (int, error) {
			inTask[0], inTask[1] = check(cx)
			return 0, nil
		}).Wait(t.Context())
		require.NoError(t, err)
		verify(inTask[0], inTask[1])
	}
	require.NoError(t, s.Close())
	_, err = streams.Accept(t.Context())
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = units.Accept(t.Context())
	require.ErrorIs(t, err, net.ErrClosed)
}

// A dial with a context that has ended connects to nothing.
func TestADialWithAContextThatHasEndedBeginsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no files pass over Unix sockets")
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var d server.Dialer
	_, err = d.DialUnix(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.DialUDP(ctx, "udp", "127.0.0.1:9")
	require.ErrorIs(t, err, context.Canceled)
}
