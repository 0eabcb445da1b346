package main

import (
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		_, err := io.WriteString(c, "hello")
		require.NoError(t, err)
		p := make([]byte, 5)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
	})
}

// A client that is idle, and does nothing about the server's end, does not hold it up.
func TestSequentialEchoEndsInOrderWithAnIdleClient(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend, "-sequential")
		c := p.Dial()
		_, err := io.WriteString(c, "x")
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
		p.Signal(syscall.SIGTERM)
		p.Wait() // for the exit code 0
		_, err = io.ReadAll(c)
		require.NoError(t, err, "it is not reset")
	})
}

func TestEchoReturnsEverythingAndThenTheFIN(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		text := strings.Repeat("every byte in order; ", 50_000)
		conntest.Each(t, 20, func(int) error {
			c, err := net.Dial("tcp", p.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			go func() {
				_, _ = io.WriteString(c, text)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			back, err := io.ReadAll(c)
			if err == nil && string(back) != text {
				err = io.ErrUnexpectedEOF
			}
			return err
		})
	})
}

func TestEchoOverUDP(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-network", "udp", "-backend", backend)
		conntest.Each(t, 8, func(i int) error {
			c, err := net.Dial("udp", p.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(conntest.Patience)); err != nil {
				return err
			}
			back := make([]byte, 1<<16)
			for j := range 200 {
				text := strings.Repeat("x", i*j)
				if _, err := io.WriteString(c, text); err != nil {
					return err
				}
				n, err := c.Read(back)
				if err != nil {
					return err
				}
				if string(back[:n]) != text {
					return io.ErrUnexpectedEOF
				}
			}
			return nil
		})
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}

func TestEchoOverAUnixSocket(t *testing.T) {
	conntest.Need(t, "unix")
	conntest.Backends(t, func(t *testing.T, backend string) {
		path := filepath.Join(t.TempDir(), "socket")
		cmd := exec.Command(program, "-network", "unix", "-addr", path, "-backend", backend)
		require.NoError(t, cmd.Start())
		var c net.Conn
		conntest.Eventually(t, func() (up bool) {
			var err error
			c, err = net.Dial("unix", path)
			return err == nil
		})
		_, err := io.WriteString(c, "hello")
		require.NoError(t, err)
		p := make([]byte, 5)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
		require.NoError(t, c.Close())
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
}
