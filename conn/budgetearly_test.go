package conn_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A handler flushes and does not return, so another worker hears what became of the send. It is
// not counted yet, and so not taken from what MaxMemory counts of others.
func TestBytesThatLeaveBeforeTheirRunEndsLeaveNoDebt(t *testing.T) {
	const much = 16 << 20
	conntest.Backends(t, func(t *testing.T, backend string) {
		flushed, release := make(chan int, 1), make(chan struct{})
		f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
			_, err := c.Discard(-1)
			for range much / (1 << 20) {
				_, werr := c.Write(make([]byte, 1<<20))
				err = errors.Join(err, werr)
			}
			err = errors.Join(err, c.Flush())
			flushed <- much - c.Unsent()
			<-release
			return err
		}}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.MaxWrite = 64<<20, 2*much })
		c := f.dial()
		write(t, c, "x")
		before := conntest.Receive(t, flushed)
		sent := func() (n int) {
			for i := range f.Connections() {
				n += int(i.Sent)
			}
			return n
		}
		read := make(chan error, 1)
		go func() {
			_, err := io.CopyN(io.Discard, c, much)
			read <- err
		}()
		if backend == "epoll" { // io_uring sends nothing while its worker is in a handler
			conntest.Eventually(t, func() bool { return sent() > before })
		}
		buffered := f.Buffered()
		close(release)
		require.GreaterOrEqual(t, buffered, 0)
		require.NoError(t, conntest.Receive(t, read))
		conntest.Eventually(t, func() bool { return f.Buffered() == 0 })
	})
}
