package server_test

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

type echo struct{ server.Base }

func (echo) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	_, err := c.Write(p)
	return err
}

// A running is a server that serves until the end of the test.
type running struct {
	*server.Server
	t      *testing.T
	addr   net.Addr
	served chan error // what ListenAndServe returned
	log    *conntest.Log
}

// run serves s on its address, by default the loopback interface.
func run(t *testing.T, s *server.Server) *running {
	t.Helper()
	r := &running{Server: s, t: t, served: make(chan error, 1), log: &conntest.Log{}}
	if s.Addr == "" {
		s.Addr = "127.0.0.1:0"
	}
	if s.ConnConfig.LingerTimeout == 0 {
		s.ConnConfig.LingerTimeout = 200 * time.Millisecond // for peers that leave it to the test's end
	}
	s.Logger = r.log.Logger()
	listening := make(chan net.Addr, 1)
	s.Listening = func(a net.Addr) { listening <- a }
	go func() { r.served <- s.ListenAndServe() }()
	select {
	case r.addr = <-listening:
	case err := <-r.served:
		t.Fatal(err)
	}
	conntest.Report(t, func() string {
		var dump strings.Builder
		_ = s.Dump(&dump)
		return r.log.String() + "\n" + dump.String()
	})
	t.Cleanup(func() {
		_ = s.Close()
		require.Zero(t, s.Group().Len())
	})
	return r
}

func (r *running) dial() net.Conn {
	r.t.Helper()
	c, err := net.DialTimeout(r.addr.Network(), r.addr.String(), conntest.Patience)
	require.NoError(r.t, err)
	require.NoError(r.t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// roundTrip sends text and waits for its echo.
func roundTrip(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	p := make([]byte, len(text))
	if _, err := io.ReadFull(c, p); err != nil {
		t.Fatalf("%v\n%s", err, conntest.Dump())
	}
	require.Equal(t, text, string(p))
}

// requireReset: err, of a read of the peer's, says that it was reset, or, where that is
// forgotten, not even that.
func requireReset(t *testing.T, err error) {
	t.Helper()
	if conntest.Wine() && (err == nil || err == io.EOF) {
		return
	}
	require.ErrorIs(t, conn.Portable(err), syscall.ECONNRESET)
}
