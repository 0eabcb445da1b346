package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

// A process is the proxy as one of its own.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs bytes.Buffer
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...)}
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	p.out = bufio.NewReader(out)
	return p
}

// line is the next one, after a beginning that it must have.
func (p *process) line(begins string) string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	require.NoError(p.t, err, "%s", &p.errs)
	rest, ok := strings.CutPrefix(strings.TrimSuffix(s, "\n"), begins)
	require.True(p.t, ok, "%q", s)
	return rest
}

func (p *process) stop(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
	rest, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	require.Empty(p.t, string(rest))
	require.NoError(p.t, p.cmd.Wait(), "%s", &p.errs)
}

func (p *process) descriptors() int {
	dir, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	return len(dir)
}

// next is the descriptor that it will open next: the lowest that is free.
func (p *process) next() (n uint64) {
	for ; ; n++ {
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.cmd.Process.Pid, n)); err != nil {
			return n
		}
	}
}

// echoes is a server that echoes.
func echoes(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				p := make([]byte, 512)
				for {
					n, err := c.Read(p)
					if err != nil {
						return
					}
					_, _ = c.Write(p[:n])
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func exchange(c net.Conn, text string) error {
	_ = c.SetDeadline(time.Now().Add(conntest.Patience))
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("%q came back for %q", got, text)
	}
	return nil
}

func TestTheFirstLinesAreTheAddressesAndASignalEndsItInOrder(t *testing.T) {
	up := echoes(t)
	path := filepath.Join(t.TempDir(), "socket")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, "-listen", "tcp://127.0.0.1:0,unix://"+path, "-upstream", "tcp://"+up, "-admin", "127.0.0.1:0")
		addr := p.line("listening on tcp://")
		require.Equal(t, path, p.line("listening on unix://"))
		status := p.line("admin on ")
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, exchange(c, "through"))
		require.NoError(t, c.Close())
		res, err := http.Get(status)
		require.NoError(t, err)
		_ = res.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		p.stop(s)
		require.Empty(t, conntest.Complaints(p.errs.String()))
		require.NoFileExists(t, path)
	}
}

func TestSIGHUPHasTheFileReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxy.toml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://" + echoes(t) + "'}]")
	p := start(t, "-config", file)
	addr := p.line("listening on tcp://")
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, exchange(c, "before"))
	write("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://127.0.0.1:1'}]")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	conntest.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return errors.Is(err, syscall.ECONNRESET)
		}
		defer c.Close()
		return exchange(c, "?") != nil
	})
	write("[[route]]\nlisten = 'nonsense'")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, exchange(c, "as before"))
	require.NoError(t, c.Close())
	p.stop(syscall.SIGTERM)
	require.Contains(t, p.errs.String(), "reloaded")
}

func TestACommandLineThatCannotBeIsOneLineAndTheCode1(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-listen", "tcp://127.0.0.1:0"}, {"-listen", "tcp://127.0.0.1:0", "-upstream", "udp://127.0.0.1:1"}, {"-config", "/nowhere"},
		{"-listen", "ip://x", "-upstream", "tcp://127.0.0.1:1"}, {"-listen", "tcp://192.0.2.1:1", "-upstream", "tcp://127.0.0.1:1"}, {"extra"},
	} {
		p := start(t, args...)
		var exit *exec.ExitError
		require.ErrorAs(t, p.cmd.Wait(), &exit, "%v", args)
		require.Equal(t, 1, exit.ExitCode())
		require.Equal(t, 1, strings.Count(p.errs.String(), "\n"), "%s", &p.errs)
		require.True(t, strings.HasPrefix(p.errs.String(), "proxy: "), "%s", &p.errs)
	}
}

// As many as descriptors allow: each connection is two of the proxy's, and two of this
// process, which has both its ends.
func TestTenThousandConnectionsAtATime(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	n := min(10_000, int(limit.Max)/2-100)
	p := start(t, "-listen", "tcp://127.0.0.1:0", "-upstream", "tcp://"+echoes(t))
	addr := p.line("listening on tcp://")
	warm, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, exchange(warm, "warm"))
	before := p.descriptors()
	conns := make([]net.Conn, n)
	var failed atomic.Int64
	conntest.Crowd(t, n, 64, func(i int) error {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		conns[i] = c
		return exchange(c, fmt.Sprintf("first of %d", i))
	})
	open := p.descriptors() - before
	require.GreaterOrEqual(t, open, 2*n)
	require.Less(t, open, 2*n+n/2, "more than two for a connection")
	var all sync.WaitGroup
	for i, c := range conns { // all at once
		all.Go(func() {
			if exchange(c, fmt.Sprintf("again of %d", i)) != nil {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	require.Zero(t, failed.Load())
	for _, c := range conns {
		_ = c.Close()
	}
	const spares = 4 * 3 // workers that a busy machine may have deployed meanwhile keep their reactors
	conntest.Eventually(t, func() bool { return p.descriptors() <= before+spares }, func() string { return fmt.Sprint(p.descriptors(), " descriptors, had ", before) })
	_ = warm.Close()
	p.stop(syscall.SIGTERM)
	t.Logf("%d connections, %d descriptors of the proxy", n, before+2*n)
}
