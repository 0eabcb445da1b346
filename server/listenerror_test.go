package server_test

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// An error of Listen is a *net.OpError itself, not within another one, as package net's is.
func TestListensErrorsAreOpErrors(t *testing.T) {
	taken := conntest.Listen(t)
	for name, at := range map[string][2]string{
		"address in use":  {"tcp", taken.Addr().String()},
		"no address":      {"tcp", "nonsense"},
		"unknown network": {"sctp", "127.0.0.1:0"},
		"no such folder":  {"unix", t.TempDir() + "/none/socket"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := server.Listen(at[0], at[1])
			require.Error(t, err)
			op, ok := err.(*net.OpError)
			require.True(t, ok, "%T", err)
			require.Equal(t, "listen", op.Op)
			require.Equal(t, at[0], op.Net)
			if name == "address in use" {
				require.ErrorIs(t, conn.Portable(err), syscall.EADDRINUSE)
				require.ErrorContains(t, err, "choose another address")
			}
		})
	}
}

// So are errors that have nothing to do with the address, also those of NewListener.
func TestAllErrorsOfListenAreOpErrors(t *testing.T) {
	closed := new(server.Server)
	require.NoError(t, closed.Close())
	for name, c := range map[string]struct {
		s      *server.Server
		is     error
		advice string
	}{
		"unknown backend": {&server.Server{Backend: "dpdk"}, errors.ErrUnsupported, "use "},
		"workers":         {&server.Server{Workers: -1}, nil, "use 0 for one per processor"},
		"closed":          {closed, net.ErrClosed, "closed by Shutdown or Close"},
		"TLS":             {&server.Server{TLS: new(tls.Config)}, nil, "TLS has no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			_, given := c.s.NewListener(ln)
			_, err = c.s.Listen("tcp", "127.0.0.1:0")
			for _, err := range []error{given, err} {
				op, ok := err.(*net.OpError)
				require.True(t, ok, "%T: %v", err, err)
				require.Equal(t, "listen", op.Op)
				require.Equal(t, "tcp", op.Net)
				require.ErrorContains(t, err, c.advice)
				require.Equal(t, 1, strings.Count(err.Error(), c.advice))
				if c.is != nil {
					require.ErrorIs(t, err, c.is)
				}
			}
		})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, err = new(server.Server).NewListener(struct{ net.Listener }{ln})
	require.IsType(t, (*net.OpError)(nil), err)
	require.ErrorContains(t, err, "use a *net.TCPListener")
}
