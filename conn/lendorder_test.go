package conn_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A run takes all commands at once. A Flush by the first of them must not make a Socket's
// next write leave before the bytes of those behind it.
func TestAFlushLeavesTheCommandsBehindItInTheirPlace(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		peer, err := net.Dial("tcp", f.addr.String())
		require.NoError(t, err)
		defer peer.Close()
		s, h := l.begin(t, peer)
		running, together, flushed, written := make(chan bool), make(chan bool), make(chan bool), make(chan bool)
		require.NoError(t, h.Do(func(*conn.Conn) { close(running); <-together }))
		conntest.Receive(t, running)
		require.NoError(t, h.Do(func(c *conn.Conn) {
			_ = c.Flush()
			close(flushed)
			<-written
		}))
		require.NoError(t, h.Send([]byte("1")))
		write(t, s, "2")
		close(together)
		conntest.Receive(t, flushed)
		write(t, s, "3")
		close(written)
		require.Equal(t, "123", string(read(t, peer, 3)))
	})
}
