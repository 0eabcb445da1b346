package conn_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A peer's end is told once, whichever it is, and while bytes before it are unread.
func TestNotifyEndTellsOfAPeerThatFinishesOrResets(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		for name, end := range map[string]func(*net.TCPConn){
			"finish": func(c *net.TCPConn) { _ = c.CloseWrite() },
			"close":  func(c *net.TCPConn) { _ = c.Close() },
			"reset":  func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		} {
			c := f.dial()
			s, _ := l.begin(t, c)
			told := make(chan string, 3)
			s.NotifyEnd(func() { told <- "replaced" })
			s.NotifyEnd(func() { told <- name })
			write(t, c, "unread")
			require.Empty(t, told)
			end(c.(*net.TCPConn))
			require.Equal(t, name, conntest.Receive(t, told))
			s.NotifyEnd(func() { told <- "late" })
			require.Equal(t, "late", <-told, "at once, since it has ended")
			require.NoError(t, s.Close())
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
			require.Empty(t, told, "once")
		}
	})
}

// A reset is reported although reading is paused, and the bytes that arrived before it can be read.
func TestNotifyEndTellsOfAResetBehindMuchThatIsUnread(t *testing.T) {
	needResets(t)
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		const n = 256 << 10 // more than a Socket takes by itself
		for _, early := range []bool{true, false} {
			c := f.dial()
			s, _ := l.begin(t, c)
			told := make(chan string, 2)
			if early {
				s.NotifyEnd(func() { told <- "reset" })
			}
			write(t, c, string(make([]byte, n)))
			conntest.Eventually(t, s.Paused)
			if !early {
				s.NotifyEnd(func() { told <- "reset" })
			}
			require.Empty(t, told)
			reset(c)
			require.Equal(t, "reset", conntest.Receive(t, told))
			got, err := io.Copy(io.Discard, struct{ io.Reader }{s})
			require.Error(t, err)
			require.NotZero(t, got)
			require.Empty(t, told, "once")
			require.NoError(t, s.Close())
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
	})
}

// The end of a connection that is not the Socket's any more is not told.
func TestNotifyEndIsTakenBackByReturnAndClose(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		told := make(chan string, 3)
		c := f.dial()
		s, _ := l.begin(t, c)
		s.NotifyEnd(func() { told <- "returned" })
		require.True(t, s.Return(func(*conn.Conn) error { return nil }))
		s.NotifyEnd(func() { told <- "after Return" })
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		l.requireTold(t, "end")
		_ = c.Close()

		c = f.dial()
		s, _ = l.begin(t, c)
		s.NotifyEnd(func() { told <- "closed" })
		require.NoError(t, s.Close())
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		_ = c.Close()

		c = f.dial()
		s, _ = l.begin(t, c)
		s.NotifyEnd(func() { told <- "taken back" })
		s.NotifyEnd(nil)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		_, err = s.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, s.Close())
		require.Empty(t, told)
	})
}
