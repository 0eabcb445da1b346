package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func dumpOf(t *testing.T, s *server.Server) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, s.Dump(&text))
	return text.String()
}

// A jammed blocks in OnData until release is closed.
type jammed struct {
	server.Base
	entered chan bool
	release chan struct{}
}

func (h jammed) OnData(*server.Conn) error {
	h.entered <- true
	<-h.release
	return nil
}

func TestADumpOfAServerWhoseWorkersAreAllStuck(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := jammed{entered: make(chan bool, 8), release: make(chan struct{})}
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 2, Spares: -1})
		defer close(h.release)
		for range 2 {
			_, err := s.dial().Write([]byte("x"))
			require.NoError(t, err)
			conntest.Receive(t, h.entered)
		}
		text := dumpOf(t, s.Server)
		require.Contains(t, text, "serves; listens on [tcp "+s.addr.String()+"]")
		require.Regexp(t, `(?s)worker 0: runs server_test\.jammed .*jammed\.OnData.*worker 1: runs server_test\.jammed .*jammed\.OnData`, text)
		require.NotContains(t, text, "busy")
		var all strings.Builder
		require.NoError(t, server.DumpAll(&all))
		require.Contains(t, all.String(), s.addr.String())
		require.Contains(t, all.String(), "jammed.OnData")
	})
}

func TestADumpBeforeTheStartAndAfterTheEnd(t *testing.T) {
	conntest.Guard(t)
	s := &server.Server{Handler: echo{}, Addr: "127.0.0.1:0"}
	require.Contains(t, dumpOf(t, s), "server 127.0.0.1:0: has not started")
	r := run(t, s)
	roundTrip(t, r.dial(), "hello")
	require.NoError(t, s.Close())
	text := dumpOf(t, s)
	require.Contains(t, text, "stops, or has stopped")
	require.Contains(t, text, "runtime: has ended")
	var all strings.Builder
	require.NoError(t, server.DumpAll(&all))
	require.NotContains(t, all.String(), r.addr.String())
}
