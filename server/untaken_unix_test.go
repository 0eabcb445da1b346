//go:build unix

package server_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestSocketsOfSystemdThatNobodyHasTakenAreReported(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for name, c := range map[string]struct {
		pid, count string
		warnings   int
	}{
		"two sockets":       {own, "2", 1},
		"no process number": {"", "1", 1},
		"another process's": {"1", "1", 0},
		"no sockets":        {own, "0", 0},
		"not activated":     {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LISTEN_PID", c.pid)
			t.Setenv("LISTEN_FDS", c.count)
			var log conntest.Log
			s := &server.Server{Addr: "127.0.0.1:0", Logger: log.Logger()}
			s.WarnOfUntakenSockets()
			require.Equal(t, c.warnings, log.Count("Listeners"), log.String())
		})
	}
}

// Run in a process that systemd has started with a socket warns, unless Listeners has taken it.
func TestRunWarnsOfSocketsOfSystemdThatNobodyHasTaken(t *testing.T) {
	if taken := os.Getenv("SERVER_TEST_UNTAKEN"); taken != "" {
		if taken == "taken" {
			_, err := server.Listeners()
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var servers []*server.Server
		listening := make(chan net.Addr, 2)
		for range cap(listening) {
			servers = append(servers, &server.Server{Addr: "127.0.0.1:0", Handler: echo{}, Workers: 1,
				Listening: func(a net.Addr) { listening <- a }})
		}
		over := make(chan error, 1)
		go func() { over <- server.RunWith(ctx, nil, servers) }()
		for range servers {
			conntest.Receive(t, listening)
		}
		cancel()
		require.NoError(t, conntest.Receive(t, over))
		return
	}
	for taken, warnings := range map[string]int{"taken": 0, "untaken": 1} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunWarnsOfSocketsOfSystemdThatNobodyHasTaken$")
		cmd.Env = append(os.Environ(), "SERVER_TEST_UNTAKEN="+taken, "LISTEN_PID=", "LISTEN_FDS=1")
		r, w, err := os.Pipe() // any descriptor
		require.NoError(t, err)
		cmd.ExtraFiles = []*os.File{r}
		out, err := cmd.CombinedOutput()
		_, _ = r.Close(), w.Close()
		require.NoError(t, err, "%s", out)
		require.Equal(t, warnings, strings.Count(string(out), "socket activation"), "%s", out)
	}
}
