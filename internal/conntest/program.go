package conntest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/leaks"
	"github.com/suiro-go/suiro/reactor"
)

// Main is a TestMain that builds the program of the package under test first,
// and passes where it is to keep.
func Main(m *testing.M, keep func(path string)) {
	dir, err := os.MkdirTemp("", "program")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "program")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	keep(path)
	code := m.Run()
	_ = os.RemoveAll(dir)
	leaks.Exit(code)
}

// A Program is a server that runs as a process of its own.
type Program struct {
	Addr   string // of Start
	Cmd    *exec.Cmd
	Stderr bytes.Buffer
	t      testing.TB
	out    *bufio.Reader
}

// Run runs a program. It is killed at the end of the test, if it has not been stopped.
func Run(t testing.TB, path string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, Cmd: exec.Command(path, args...)}
	p.Cmd.Stderr = &p.Stderr
	out, err := p.Cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Cmd.Start())
	t.Cleanup(func() {
		if p.Cmd.ProcessState == nil {
			_ = p.Cmd.Process.Kill()
			_ = p.Cmd.Wait()
		}
	})
	p.out = bufio.NewReader(out)
	return p
}

// Start runs a program and waits for the line with its address.
func Start(t testing.TB, path string, args ...string) *Program {
	t.Helper()
	p := Run(t, path, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	p.Addr = p.Line("listening on ")
	_, port, err := net.SplitHostPort(p.Addr)
	require.NoError(t, err)
	require.NotEqual(t, "0", port)
	return p
}

// Line is the next one of the output, after a beginning that it must have.
func (p *Program) Line(begins string) string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	require.NoError(p.t, err, "%s", &p.Stderr)
	rest, ok := strings.CutPrefix(strings.TrimSuffix(s, "\n"), begins)
	require.True(p.t, ok, "%q", s)
	return rest
}

// Descriptors is how many the program has open. It is for Linux.
func (p *Program) Descriptors() int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Cmd.Process.Pid))
	require.NoError(p.t, err)
	return len(list)
}

// Dial connects to the program.
func (p *Program) Dial() net.Conn {
	p.t.Helper()
	c, err := net.DialTimeout("tcp", p.Addr, Patience)
	require.NoError(p.t, err)
	require.NoError(p.t, c.SetDeadline(time.Now().Add(Patience)))
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Signal sends a signal to the program.
func (p *Program) Signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.Cmd.Process.Signal(s))
}

// Wait waits for the program's end and checks that it was a clean one: exit
// code 0, nothing on the standard error, no more than one line on the output.
func (p *Program) Wait() {
	p.t.Helper()
	p.End()
	require.Empty(p.t, Complaints(p.Stderr.String()))
}

// End is Wait of a program that may complain.
func (p *Program) End() {
	p.t.Helper()
	rest, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	require.Empty(p.t, string(rest), "more than one line")
	require.NoError(p.t, p.Cmd.Wait(), "%s", &p.Stderr)
}

// occupied is a warning with its stack. A task that the kernel does not run causes one as well.
var occupied = regexp.MustCompile(`(?m)^\S+ WARN sched: a task occupies its worker: use blocking.Do .*\n` +
	`(?:(?:[\t ].*|goroutine .*|created by .*|\S+\(.*\)|)\n)*`)

// Complaints is what a program has logged, without the warnings that a busy machine causes.
func Complaints(logged string) string { return occupied.ReplaceAllString(logged, "") }

// CommandLine tests what every example's command line promises. exchange talks
// to the program over a connection, which it leaves open.
func CommandLine(t *testing.T, path string, exchange func(t *testing.T, c net.Conn)) {
	t.Run("signals end it in order with connections open", func(t *testing.T) {
		Guard(t)
		var all []*Program
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			for _, backend := range reactor.Backends() {
				if _, err := reactor.Select(reactor.Config{Backend: backend}, nil); err != nil {
					t.Logf("without %s: %v", backend, err)
					continue
				}
				for _, workers := range []string{"1", "2", "4"} {
					p := Start(t, path, "-backend", backend, "-workers", workers)
					all = append(all, p)
					for range 3 { // they do not react to the FIN
						exchange(t, p.Dial())
					}
					p.Signal(s)
				}
			}
		}
		for _, p := range all { // all wait for their peers at the same time
			p.Wait()
		}
	})
	t.Run("errors are one line and exit code 1", func(t *testing.T) {
		Backends(t, func(t *testing.T, backend string) {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer taken.Close()
			for name, c := range map[string]struct{ args, says string }{
				"address in use":  {"exec $0 -backend " + backend + " -addr " + taken.Addr().String(), "address already in use"},
				"bad address":     {"exec $0 -backend " + backend + " -addr nonsense", "use host:port"},
				"unknown backend": {"exec $0 -backend " + backend + "x -addr 127.0.0.1:0", "use io_uring or epoll"},
				"its environment": {"SUIRO_BACKEND=select exec $0 -addr 127.0.0.1:0", "use io_uring or epoll"},
				"too many files":  {"ulimit -n 6; exec $0 -addr 127.0.0.1:0 -workers 4 -backend " + backend, "ulimit -n"},
				"hardly any file": {"ulimit -n 4; exec $0 -addr 127.0.0.1:0", "ulimit -n"},
			} {
				t.Run(name, func(t *testing.T) {
					var stdout, stderr bytes.Buffer
					cmd := exec.Command("/bin/sh", "-c", c.args, path)
					cmd.Stdout, cmd.Stderr = &stdout, &stderr
					err := cmd.Run()
					var exit *exec.ExitError
					require.True(t, errors.As(err, &exit), err)
					require.Equal(t, 1, exit.ExitCode(), "%s", &stderr)
					require.Empty(t, stdout.String())
					require.Equal(t, 1, strings.Count(Complaints(stderr.String()), "\n"), "%s", &stderr)
					require.Contains(t, stderr.String(), c.says)
				})
			}
		})
	})
	t.Run("it uses the backend of the environment", func(t *testing.T) {
		Backends(t, func(t *testing.T, backend string) {
			t.Setenv("SUIRO_BACKEND", backend)
			p := Start(t, path)
			c := p.Dial()
			exchange(t, c)
			require.NoError(t, c.Close())
			p.Signal(syscall.SIGTERM)
			p.Wait()
		})
	})
}

// CPU is the processor time the program has used, in seconds, of all its threads; as
// exact as the kernel's scheduler counts it.
func (p *Program) CPU() float64 {
	p.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Cmd.Process.Pid))
	require.NoError(p.t, err)
	var all float64
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		require.NoError(p.t, err)
		var ns int64
		_, err = fmt.Sscan(string(text), &ns)
		require.NoError(p.t, err)
		all += float64(ns) / 1e9
	}
	return all
}
