package conn_test

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/sched"
)

// failSecondSend makes the first send take a part, and each later one fail.
func failSecondSend(t *testing.T) func(*conn.Config) {
	plan := conntest.Faults(t, faults.Rule{Call: faults.Send, Every: 1, Most: 1},
		faults.Rule{Call: faults.Send, Errno: syscall.EIO, Every: 1})
	return func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) }
}

// requireCut reads what the peer has, and checks that it does not look like all of it.
func requireCut(t *testing.T, c net.Conn) {
	t.Helper()
	n, err := io.Copy(io.Discard, c)
	require.Less(t, n, int64(len(noise)), "nothing was cut")
	requireReset(t, err)
}

func TestAConnectionWhoseSendFailsIsReset(t *testing.T) {
	small := noise[:(16<<10)-1] // which is queued, and sent after the callback
	for name, data := range map[string][]byte{"queued": small, "sent at once": noise} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				closed, tell := ends(1)
				f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
					_, err := c.Write(data)
					return err
				}}, failSecondSend(t))
				c := f.dial()
				write(t, c, "go")
				requireCut(t, c)
				requireOpError(t, conntest.Receive(t, closed), "write", syscall.EIO)
			})
		})
	}
}

func TestASmallWriteThatCannotBeSentEndsTheConnection(t *testing.T) {
	for name, flush := range map[string]bool{"at the end of a run": false, "by Flush": true} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				plan := conntest.Faults(t, faults.Rule{Call: faults.Send, Errno: syscall.EIO, Every: 1})
				closed, tell := ends(1)
				first := make(chan bool, 1) // nothing is written in the run that accepts
				f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
					if n, _ := c.Discard(-1); n == 1 {
						first <- true
						return nil
					}
					_, err := c.Write(noise[:100])
					if flush && err == nil {
						err = c.Flush()
					}
					return err
				}}, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
				c := f.dial()
				write(t, c, "x")
				conntest.Receive(t, first)
				write(t, c, "go")
				requireCut(t, c)
				requireOpError(t, conntest.Receive(t, closed), "write", syscall.EIO)
			})
		})
	}
}

func TestAStreamWhoseSendFailsIsReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ended := make(chan error, 1)
		f := sequential(t, backend, 2, func(_ *sched.Context, s *conn.Stream) error {
			_, err := s.Read(make([]byte, 2))
			if err == nil {
				_, err = s.Write(noise)
			}
			ended <- err
			return nil // as if nothing had happened
		}, failSecondSend(t))
		c := f.dial()
		write(t, c, "go")
		requireCut(t, c)
		conntest.Receive(t, ended)
	})
}

// A goroutine that gets the error may close the socket in order, as io.Copy's callers
// do, or say that it writes no more.
func TestASocketWhoseSendFailsIsReset(t *testing.T) {
	plan := func(cfg *conn.Config) { failSecondSend(t)(cfg) }
	for name, end := range map[string]func(*conn.Socket) error{"Close": (*conn.Socket).Close, "CloseWrite": (*conn.Socket).CloseWrite} {
		t.Run(name, func(t *testing.T) {
			onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
				l := f.open("tcp", conn.SocketListenerConfig{})
				c, err := dial(l.Addr())
				require.NoError(t, err)
				defer c.Close()
				accepted, err := l.Accept()
				require.NoError(t, err)
				defer accepted.Close()
				_, err = accepted.Write(noise)
				if err == nil { // the rest is queued
					_, err = accepted.Write(noise)
				}
				require.ErrorIs(t, err, syscall.EIO)
				require.NoError(t, end(accepted.(*conn.Socket)))
				requireCut(t, c)
			}, plan)
		})
	}
}

// Bytes that a panic leaves unsent are a cut too.
func TestAPanicWithOutputUnsentResetsThePeer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
			if _, err := c.WriteString("the first part, and then"); err != nil {
				return err
			}
			panic("on purpose")
		}})
		c := f.dial()
		write(t, c, "go")
		_, err := io.Copy(io.Discard, c)
		requireReset(t, err)
		var p *conn.PanicError
		require.ErrorAs(t, conntest.Receive(t, closed), &p)
	})
}
