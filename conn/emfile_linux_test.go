package conn_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// The limit is the process's, so the server is a child, which says
// what it does on its standard output and takes orders on the standard input.
func TestAcceptBacksOffWithoutDescriptorsAndGoesOnWithThem(t *testing.T) {
	if backend := os.Getenv("CONN_TEST_EMFILE"); backend != "" {
		emfileServer(t, backend)
		return
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()[:len("TestAcceptBacksOffWithoutDescriptorsAndGoesOnWithThem")]+"$")
		cmd.Env = append(os.Environ(), "CONN_TEST_EMFILE="+backend)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() {
			_ = in.Close()
			_ = cmd.Wait()
		}()
		lines := bufio.NewScanner(out)
		line := func() string {
			require.True(t, lines.Scan(), "the child ended")
			return lines.Text()
		}
		var addr string
		_, err = fmt.Sscanf(line(), "listening %s", &addr)
		require.NoError(t, err)
		// More connections than the child may have: the kernel establishes all.
		conns := make([]net.Conn, 40)
		for i := range conns {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
			defer c.Close()
			conns[i] = c
			write(t, c, "hello")
		}
		require.Equal(t, "refused", line())
		require.Equal(t, "hello", string(read(t, conns[0], 5)), "those it has are served meanwhile")
		for _, c := range conns[:30] { // descriptors return: enough for the rest
			require.NoError(t, c.Close())
		}
		for _, c := range conns[30:] {
			require.Equal(t, "hello", string(read(t, c, 5)))
		}
		_, err = io.WriteString(in, "report\n")
		require.NoError(t, err)
		var attempts int
		_, err = fmt.Sscanf(line(), "%d warnings", &attempts)
		require.NoError(t, err)
		require.Less(t, attempts, 1000, "no back-off")
	})
}

// emfileServer is the child: an echo that may have few descriptors.
func emfileServer(t *testing.T, backend string) {
	log := &conntest.Log{}
	cfg := conn.Config{Logger: log.Logger()}
	cfg.Reactor.Backend = backend
	g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, g.Runtime().Start())
	limit := uint64(len(conntest.Descriptors()) + 20) // before accepting: io_uring takes note of it then
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}))
	_, err = g.Listen(ln, funcs{data: echo})
	require.NoError(t, err)
	fmt.Println("listening", ln.Addr())
	conntest.Eventually(t, func() bool { return log.Count("too many open files; raise the limit on open files (ulimit -n)") > 0 })
	fmt.Println("refused")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	require.NoError(t, err)
	fmt.Println(log.Count("accept failed"), "warnings")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent is done
}
