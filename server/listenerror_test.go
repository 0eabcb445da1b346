package server_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/server"
)

// An error of Listen is a *net.OpError itself, not within another one, as package net's is.
func TestListensErrorsAreOpErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
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
