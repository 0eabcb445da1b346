package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A connection is lent, spliced, and returned while it closes. The splice ends all the same, and
// the lender learns of the end.
func TestASpliceOfALentConnectionThatIsReturnedWhileItCloses(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		origin := conntest.Listen(t)
		c := f.dial()
		s, h := l.begin(t, c)
		b, err := f.Dial(origin.Addr(), funcs{data: leave, eof: ignore})
		require.NoError(t, err)
		other, err := origin.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = other.Close() })
		done, returned := make(chan struct{}), make(chan struct{})
		require.NoError(t, h.Do(func(c *conn.Conn) {
			_, err := conn.Splice(c, b, func(*conn.Spliced) { close(done) })
			require.NoError(t, err)
			require.NoError(t, c.Close())
			require.True(t, s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil }))
		}))
		require.NoError(t, h.Do(func(*conn.Conn) { close(returned) }))
		conntest.Receive(t, returned) // the task has taken it back, and waits for its peer
		require.NoError(t, c.Close())
		require.NoError(t, other.Close())
		conntest.Receive(t, done)
		l.requireTold(t, "closed")
	})
}
