package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) { exchange(t, c, "PING\r\n", "+PONG\r\n") })
}

// exchange sends a request and reads the reply.
func exchange(t *testing.T, c net.Conn, request, reply string) {
	t.Helper()
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
	got := make([]byte, len(reply))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err, "%q", got)
	require.Equal(t, reply, string(got))
}

func TestRequestsMayBeCutAnywhere(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		c := p.Dial()
		const set, rest = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n\r\n\r\n", "GET \"k\"\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"
		for cut := range len(set + rest) {
			// the reply to the PING in front shows that the server has seen the first part
			exchange(t, c, "PING\r\n"+(set + rest)[:cut], "+PONG\r\n")
			exchange(t, c, (set + rest)[cut:], "+OK\r\n$4\r\n\r\n\r\n\r\n:1\r\n")
		}
	})
}

func TestProtocolErrorsEndTheConnectionWithTheirReply(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		for request, replies := range map[string]string{
			"PING\r\n*1\r\n+PING\r\nPING\r\n": "+PONG\r\n-ERR Protocol error: expected '$', got '+'\r\n",
			"*x\r\n":                          "-ERR Protocol error: invalid multibulk length\r\n",
			"QUIT\r\nPING\r\n":                "+OK\r\n",
			"*2\r\n$4\r\nECHO\r\n$100\r\nabc": "", // the client ends in the middle
		} {
			c := p.Dial()
			_, err := io.WriteString(c, request)
			require.NoError(t, err)
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			all, err := io.ReadAll(c)
			require.NoError(t, err, request)
			require.Equal(t, replies, string(all), request)
		}
		exchange(t, p.Dial(), "PING\r\n", "+PONG\r\n")
	})
}

// The client sends more than the buffers of both ends hold before it reads anything.
func TestLargeValuesAndPipelines(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		c := p.Dial()
		value := strings.Repeat("0123456789abcdef", 10<<20/16)
		exchange(t, c, fmt.Sprintf("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n%s\r\n", len(value), value), "+OK\r\n")
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c, strings.Repeat("GET big\r\n", 8)+strings.Repeat("INCR n\r\n", 100_000))
			sent <- err
		}()
		in := bufio.NewReader(c)
		for range 8 {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("$%d\r\n", len(value)), line)
			got := make([]byte, len(value)+2)
			_, err = io.ReadFull(in, got)
			require.NoError(t, err)
			require.True(t, string(got) == value+"\r\n")
		}
		for i := range 100_000 {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf(":%d\r\n", i+1), line)
		}
		require.NoError(t, conntest.Receive(t, sent))
	})
}

func TestManyClientsCount(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := conntest.Start(t, program, "-backend", backend, "-workers", fmt.Sprint(workers))
		const clients, each = 50, 200
		conntest.Each(t, clients, func(i int) error {
			c, err := net.Dial("tcp", p.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for range each {
				if _, err := io.WriteString(c, fmt.Sprintf("INCR all\r\nINCR own%d\r\n", i)); err != nil {
					return err
				}
				for range 2 {
					if _, err := in.ReadSlice('\n'); err != nil {
						return err
					}
				}
			}
			return nil
		})
		exchange(t, p.Dial(), "MGET all own7\r\n", "*2\r\n$5\r\n10000\r\n$3\r\n200\r\n")
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: it is in Debian's package redis-tools", name)
	}
	return path
}

func TestRedisCLI(t *testing.T) {
	cli := tool(t, "redis-cli")
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		host, port, err := net.SplitHostPort(p.Addr)
		require.NoError(t, err)
		run := func(stdin string, args ...string) string {
			cmd := exec.Command(cli, append([]string{"-h", host, "-p", port}, args...)...)
			cmd.Stdin = strings.NewReader(stdin)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		require.Equal(t, "OK\n", run("", "set", "k", "two words"))
		require.Equal(t, "two words\n", run("", "get", "k"))
		require.Equal(t, "1\n", run("", "del", "k", "none"))
		require.Equal(t, "\n", run("", "get", "k"))
		require.Equal(t, "OK\n3\n1\n3\n\n", run("mset a 1 b 2\nincr b\nmget a b none\n"))
		binary := strings.Repeat("\x00\r\n\xff", 1<<20)
		require.Equal(t, "OK\n", run(binary, "-x", "set", "binary"))
		require.True(t, run("", "--raw", "get", "binary") == binary+"\n")
		require.Contains(t, run("", "info"), "db0:keys=3\r\n")
		require.Contains(t, run("", "nope"), "ERR unknown command 'nope'")
		require.Contains(t, run(strings.Repeat("INCR piped\r\n", 10_000), "--pipe"), "errors: 0, replies: 10000")
		require.Equal(t, "10000\n", run("", "get", "piped"))
	})
}

func TestRedisBenchmark(t *testing.T) {
	benchmark := tool(t, "redis-benchmark")
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		host, port, err := net.SplitHostPort(p.Addr)
		require.NoError(t, err)
		for _, pipeline := range []string{"1", "64"} {
			var stdout, stderr bytes.Buffer
			cmd := exec.Command(benchmark, "-h", host, "-p", port, "-c", "20", "-n", "6400", "-r", "100", "-P", pipeline, "--csv",
				"-t", "ping_inline,ping_mbulk,set,get,incr,mset")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Run(), "%s%s", &stdout, &stderr)
			require.Empty(t, stderr.String())
			for _, name := range []string{"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)"} {
				require.Contains(t, stdout.String(), `"`+name+`"`)
			}
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}
