package main

import (
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

// stop ends the proxy in order.
func stop(p *conntest.Program, s syscall.Signal) {
	p.Signal(s)
	p.End()
}

// next is the descriptor that it will open next: the lowest that is free.
func next(p *conntest.Program) (n uint64) {
	for ; ; n++ {
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.Cmd.Process.Pid, n)); err != nil {
			return n
		}
	}
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
	up := conntest.Serve(t, conntest.Echo).String()
	path := filepath.Join(t.TempDir(), "socket")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := conntest.Run(t, program, "-listen", "tcp://127.0.0.1:0,unix://"+path, "-upstream", "tcp://"+up, "-admin", "127.0.0.1:0")
		addr := p.Line("listening on tcp://")
		require.Equal(t, path, p.Line("listening on unix://"))
		status := p.Line("admin on ")
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, exchange(c, "through"))
		require.NoError(t, c.Close())
		res, err := http.Get(status)
		require.NoError(t, err)
		_ = res.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		stop(p, s)
		require.Empty(t, conntest.Complaints(p.Stderr.String()))
		require.NoFileExists(t, path)
	}
}

func TestSIGHUPHasTheFileReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxy.toml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://" + conntest.Serve(t, conntest.Echo).String() + "'}]")
	p := conntest.Run(t, program, "-config", file)
	addr := p.Line("listening on tcp://")
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, exchange(c, "before"))
	write("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://127.0.0.1:1'}]")
	require.NoError(t, p.Cmd.Process.Signal(syscall.SIGHUP))
	conntest.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return errors.Is(err, syscall.ECONNRESET)
		}
		defer c.Close()
		return exchange(c, "?") != nil
	})
	write("[[route]]\nlisten = 'nonsense'")
	require.NoError(t, p.Cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, exchange(c, "as before"))
	require.NoError(t, c.Close())
	stop(p, syscall.SIGTERM)
	require.Contains(t, p.Stderr.String(), "reloaded")
}

func TestASecondSignalEndsItWhileConnectionsAreOpen(t *testing.T) {
	up := conntest.Serve(t, conntest.Echo).String()
	p := conntest.Run(t, program, "-listen", "tcp://127.0.0.1:0", "-upstream", "tcp://"+up, "-drain", "1h")
	addr := p.Line("listening on tcp://")
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, exchange(c, "before"))
	p.Signal(syscall.SIGTERM)
	conntest.Eventually(t, func() bool {
		late, err := net.Dial("tcp", addr)
		if err == nil {
			_ = late.Close()
		}
		return err != nil
	})
	require.NoError(t, exchange(c, "during the drain"))
	ended := make(chan error, 1)
	go func() { ended <- p.Cmd.Wait() }()
	p.Signal(syscall.SIGTERM)
	_ = conntest.Receive(t, ended)
	require.Contains(t, p.Stderr.String(), "connections are reset")
}

// The second signal is not lost if it arrives right behind the first one.
func TestTwoSignalsAtOnceEndItWhileConnectionsAreOpen(t *testing.T) {
	up := conntest.Serve(t, conntest.Echo).String()
	for range 10 {
		p := conntest.Run(t, program, "-listen", "tcp://127.0.0.1:0", "-upstream", "tcp://"+up, "-drain", "1h")
		c, err := net.Dial("tcp", p.Line("listening on tcp://"))
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, exchange(c, "before"))
		ended := make(chan error, 1)
		go func() { ended <- p.Cmd.Wait() }()
		p.Signal(syscall.SIGTERM)
		p.Signal(syscall.SIGINT) // two of one kind may be one
		_ = conntest.Receive(t, ended)
	}
}

// killedAddr is one from which no other program connects. So its ports are not given to clients
// while nobody listens there.
const killedAddr = "127.77.83.2"

// io_uring lets go of a killed process's sockets some time after the process has ended.
func TestAProxyStartsWhereOneWasKilled(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := conntest.Serve(t, conntest.Echo).String()
		dir := t.TempDir()
		at := []string{"tcp://" + killedAddr + ":0", "http://" + killedAddr + ":0", "udp://" + killedAddr + ":0", "unix://" + dir + "/socket"}
		admin := killedAddr + ":0"
		for range 3 {
			text := fmt.Sprintf("admin = '%s'\nbackend = '%s'\n", admin, backend)
			for _, a := range at {
				to := "tcp"
				if strings.HasPrefix(a, "udp") {
					to = "udp"
				}
				text += fmt.Sprintf("[[route]]\nlisten = ['%s']\nupstream = [{address = '%s://%s'}]\n", a, to, up)
			}
			require.NoError(t, os.WriteFile(dir+"/file", []byte(text), 0o600))
			p := conntest.Run(t, program, "-config", dir+"/file")
			for i := range at {
				at[i] = p.Line("listening on ")
			}
			admin = strings.TrimSuffix(p.Line("admin on http://"), "/")
			c, err := net.Dial("tcp", strings.TrimPrefix(at[0], "tcp://"))
			require.NoError(t, err)
			require.NoError(t, exchange(c, "hello"))
			require.NoError(t, p.Cmd.Process.Kill())
			require.Error(t, p.Cmd.Wait())
			_ = c.Close()
		}
	})
}

func TestACommandLineThatCannotBeIsOneLineAndTheCode1(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-listen", "tcp://127.0.0.1:0"}, {"-listen", "tcp://127.0.0.1:0", "-upstream", "udp://127.0.0.1:1"}, {"-config", "/nowhere"},
		{"-listen", "ip://x", "-upstream", "tcp://127.0.0.1:1"}, {"-listen", "tcp://192.0.2.1:1", "-upstream", "tcp://127.0.0.1:1"}, {"extra"},
	} {
		p := conntest.Run(t, program, args...)
		var exit *exec.ExitError
		require.ErrorAs(t, p.Cmd.Wait(), &exit, "%v", args)
		require.Equal(t, 1, exit.ExitCode())
		require.Equal(t, 1, strings.Count(p.Stderr.String(), "\n"), "%s", &p.Stderr)
		require.True(t, strings.HasPrefix(p.Stderr.String(), "proxy: "), "%s", &p.Stderr)
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
	p := conntest.Run(t, program, "-listen", "tcp://127.0.0.1:0", "-upstream", "tcp://"+conntest.Serve(t, conntest.Echo).String())
	addr := p.Line("listening on tcp://")
	warm, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, exchange(warm, "warm"))
	before := p.Descriptors()
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
	open := p.Descriptors() - before
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
	conntest.Eventually(t, func() bool { return p.Descriptors() <= before+spares }, func() string { return fmt.Sprint(p.Descriptors(), " descriptors, had ", before) })
	_ = warm.Close()
	stop(p, syscall.SIGTERM)
	t.Logf("%d connections, %d descriptors of the proxy", n, before+2*n)
}
