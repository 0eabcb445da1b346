package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "in lobby")
	})
}

func TestTheSelftest(t *testing.T) {
	out, err := exec.Command(program, "-selftest").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "10000 lines, each to 20 clients")
}

// A terminal is a client that types and reads lines.
type terminal struct {
	net.Conn
	in   *bufio.Reader
	name string
}

func enterLobby(t *testing.T, addr string) *terminal {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, conntest.Patience)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	u := &terminal{c, bufio.NewReader(c), ""}
	_, err = fmt.Sscanf(u.line(t), "* you are %s in lobby", &u.name)
	require.NoError(t, err)
	require.Equal(t, usage, u.line(t)+"\n")
	require.Equal(t, "* "+u.name+" is here", u.line(t))
	return u
}

func (u *terminal) line(t *testing.T) string {
	t.Helper()
	line, err := u.in.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\n")
}

func (u *terminal) say(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(u, line+"\n")
	require.NoError(t, err)
}

func TestAConversation(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := conntest.Start(t, program, "-backend", backend, "-workers", fmt.Sprint(workers))
		ann := enterLobby(t, p.Addr)
		bob := enterLobby(t, p.Addr)
		require.Equal(t, "* "+bob.name+" is here", ann.line(t))
		ann.say(t, "hello")
		require.Equal(t, ann.name+" hello", bob.line(t))
		require.Equal(t, ann.name+" hello", ann.line(t))
		bob.say(t, "/join den")
		require.Equal(t, "* "+bob.name+" is here", bob.line(t))
		require.Equal(t, "* "+bob.name+" is gone", ann.line(t))
		ann.say(t, "/dance")
		require.Equal(t, usage, ann.line(t)+"\n")
		ann.say(t, "/join den")
		require.Equal(t, "* "+ann.name+" is here", ann.line(t))
		require.Equal(t, "* "+ann.name+" is here", bob.line(t))
		bob.say(t, "/quit")
		_, err := bob.in.ReadByte()
		require.Equal(t, io.EOF, err)
		bob.Close()
		require.Equal(t, "* "+bob.name+" is gone", ann.line(t))
	})
}
