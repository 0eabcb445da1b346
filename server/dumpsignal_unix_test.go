//go:build unix

package server_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// TestMainOfADumpedProgram is no test of its own: it is the program that
// TestASignalMakesAProgramDump starts.
func TestMainOfADumpedProgram(t *testing.T) {
	if os.Getenv("SUIRO_DUMP_PROGRAM") == "" {
		t.Skip("runs as a program of another test")
	}
	h := jammed{entered: make(chan bool, 8), release: make(chan struct{})}
	s := run(t, &server.Server{Handler: h, Workers: 1, Spares: -1})
	_, err := s.dial().Write([]byte("x"))
	require.NoError(t, err)
	conntest.Receive(t, h.entered)
	_, _ = os.Stdout.WriteString("stuck\n")
	time.Sleep(conntest.Patience) // it is killed before
}

func TestASignalMakesAProgramDump(t *testing.T) {
	for _, asked := range []bool{true, false} {
		program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMainOfADumpedProgram$")
		program.Env = append(os.Environ(), "SUIRO_DUMP_PROGRAM=1", "SUIRO_DUMP=")
		if asked {
			program.Env = append(program.Env, "SUIRO_DUMP=signal")
		}
		out, err := program.StdoutPipe()
		require.NoError(t, err)
		errs, err := program.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, program.Start())
		defer func() {
			_ = program.Process.Kill()
			_ = program.Wait()
		}()
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "stuck" {
		}
		require.Equal(t, "stuck", lines.Text())
		require.NoError(t, program.Process.Signal(syscall.SIGUSR1))
		if !asked { // the signal is ignored, as without the library
			time.Sleep(100 * time.Millisecond) // not for anything to happen, but for nothing to
			require.NoError(t, program.Process.Kill())
		}
		text, report := "", bufio.NewScanner(errs)
		for report.Scan() && !strings.Contains(report.Text(), "spawned tasks:") {
			text += report.Text() + "\n"
		}
		if asked {
			require.Contains(t, text, "worker 0: runs server_test.jammed (127.0.0.1:")
			require.Contains(t, text, "jammed.OnData")
		} else {
			require.Empty(t, text)
		}
	}
}
