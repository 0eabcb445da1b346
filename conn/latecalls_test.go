package conn_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Late calls on connections that have ended do not race with those on others: for the race
// detector.
func TestLateCallsOnEndedConnectionsDoNotRace(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ended := make(chan *conn.Conn, 2)
		f := serve(t, backend, 1, funcs{data: echo, close: func(c *conn.Conn, _ error) { ended <- c }})
		var late []*conn.Conn
		for range 2 {
			c := f.dial()
			write(t, c, "x")
			read(t, c, 1)
			require.NoError(t, c.Close())
			late = append(late, conntest.Receive(t, ended))
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		f.rounds(1) // their last runs have returned
		var all sync.WaitGroup
		for _, c := range late {
			all.Go(func() {
				p := make([]byte, 1)
				_, _ = c.Peek(-1)
				_, _ = c.Next(-1)
				_, _ = c.Discard(-1)
				_, _ = c.Read(nil)
				_, err := c.Read(p)
				if err == nil {
					t.Error("there is nothing to read")
				}
				_, _ = c.WriteTo(io.Discard)
				_, _ = c.Write(p)
				_, _ = c.Writev([][]byte{p})
				_ = c.AvailableBuffer(1)
				_, _ = c.Buffered(), c.Unsent()
				_, _, _ = c.Flush(), c.PauseRead(), c.ResumeRead()
				_, _, _ = c.CloseRead(), c.CloseWrite(), c.Close()
				_ = c.SetHandler(funcs{})
				c.NotifySent(func(error) {})
				c.Abort()
			})
		}
		all.Wait()
	})
}

// NotifySent calls its function with the error of the end from OnClose on.
func TestNotifySentAfterTheEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, cause := range []error{nil, errTest} {
			errs, ended := make(chan error, 3), make(chan *conn.Conn, 1)
			tell := func(err error) { errs <- err }
			f := serve(t, backend, 1, funcs{
				open: func(c *conn.Conn) error {
					c.NotifyClose(func() { c.NotifySent(tell) })
					return nil
				},
				data: func(c *conn.Conn) error {
					if cause == nil {
						_ = c.Close()
					}
					return cause
				},
				close: func(c *conn.Conn, _ error) {
					c.NotifySent(tell)
					ended <- c
				},
			})
			c := f.dial()
			write(t, c, "x")
			require.NoError(t, c.Close())
			late := conntest.Receive(t, ended)
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
			f.rounds(1)
			late.NotifySent(tell)
			for range 3 {
				want := cause
				if want == nil {
					want = net.ErrClosed
				}
				require.ErrorIs(t, conntest.Receive(t, errs), want)
			}
		}
	})
}

// The last bytes that leave before a connection ends were sent, also if its peer has finished
// before.
func TestNotifySentOfTheLastBytes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		errs := make(chan error, 1)
		f := serve(t, backend, 1, funcs{
			data: func(c *conn.Conn) error {
				_, err := c.Discard(-1)
				return err
			},
			eof: func(c *conn.Conn) error {
				_, err := c.WriteString("bye")
				c.NotifySent(func(err error) { errs <- err })
				_ = c.Close()
				return err
			},
		})
		c := f.dial()
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Equal(t, "bye", string(read(t, c, 3)))
		require.NoError(t, conntest.Receive(t, errs))
		readEOF(t, c)
	})
}
