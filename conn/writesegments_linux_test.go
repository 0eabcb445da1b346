package conn_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// segments is the number of TCP segments with data that have arrived at c: on
// the loopback interface, small sends make one each.
func segments(t *testing.T, c net.Conn) int {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var info *unix.TCPInfo
	var ierr error
	require.NoError(t, raw.Control(func(fd uintptr) {
		info, ierr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}))
	require.NoError(t, ierr)
	return int(info.Data_segs_in)
}

func TestWritesOfOneHandlerRunLeaveAsOneSend(t *testing.T) {
	ways := map[string]func(c *conn.Conn, p string) error{
		"Write":       func(c *conn.Conn, p string) error { _, err := c.Write([]byte(p)); return err },
		"WriteString": func(c *conn.Conn, p string) error { _, err := c.WriteString(p); return err },
		"Writev": func(c *conn.Conn, p string) error {
			n, err := c.Writev([][]byte{[]byte(p[:1]), nil, []byte(p[1:])})
			if err == nil && n != len(p) {
				err = fmt.Errorf("Writev wrote %d", n)
			}
			return err
		},
		"AvailableBuffer": func(c *conn.Conn, p string) error {
			_, err := c.Write(append(c.AvailableBuffer(len(p)), p...))
			return err
		},
		"AvailableBuffer outgrown": func(c *conn.Conn, p string) error {
			_, err := c.Write(append(c.AvailableBuffer(1), p...))
			return err
		},
	}
	for name, put := range ways {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				var want strings.Builder
				for i := range 200 {
					fmt.Fprintf(&want, "<%d>", i)
				}
				f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
					_ = discard(c)
					before := c.Unsent() // the last send's end may not have been heard of
					for i := range 200 {
						if err := put(c, fmt.Sprintf("<%d>", i)); err != nil {
							return err
						}
					}
					if n := c.Unsent() - before; n != want.Len() {
						return fmt.Errorf("%d more unsent", n)
					}
					return nil
				}})
				c := f.dial()
				for round := range 3 {
					write(t, c, "x")
					require.Equal(t, want.String(), string(read(t, c, want.Len())))
					require.Equal(t, 1+round, segments(t, c))
				}
			})
		})
	}
}

// The answers to several chunks of input in one run are one send, too.
func TestPipelinedAnswersLeaveTogether(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		gate, held := make(chan struct{}), make(chan struct{})
		f := serve(t, backend, 1, funcs{data: echo})
		c := f.dial()
		_, err := f.Dial(f.addr, f.audit.of(funcs{open: func(*conn.Conn) error {
			close(held)
			<-gate // keeps the only worker while input gathers
			return nil
		}}))
		require.NoError(t, err)
		conntest.Receive(t, held)
		for range 50 {
			write(t, c, "ping")
		}
		close(gate)
		require.Equal(t, strings.Repeat("ping", 50), string(read(t, c, 200)))
		require.LessOrEqual(t, segments(t, c), 2) // one, except for bytes that arrived before the worker was held
	})
}

func TestFlushSendsBeforeTheHandlerReturns(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error {
			_ = discard(c)
			_, _ = c.WriteString("one")
			if err := c.Flush(); err != nil {
				return err
			}
			_, err := c.WriteString("two")
			return err
		}})
		c := f.dial()
		write(t, c, "x")
		require.Equal(t, "onetwo", string(read(t, c, 6)))
		require.Equal(t, 2, segments(t, c))
	})
}
