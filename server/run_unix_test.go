//go:build unix

package server_test

import (
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// Run takes the signals of the process, and gives them back: a second Run gets its own.
func TestRunEndsAtASignalOfTheProcess(t *testing.T) {
	signals := make(chan os.Signal, 8) // so that none ends the test
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		srv := &server.Server{Handler: echo{}, Addr: "127.0.0.1:0", Logger: (&conntest.Log{}).Logger()}
		srv.Listening = func(net.Addr) { _ = syscall.Kill(os.Getpid(), s) }
		over := make(chan error, 1)
		go func() { over <- server.Run(t.Context(), srv) }()
		require.NoError(t, conntest.Receive(t, over))
	}
}
