package conn_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A tlsLender lends when it reads "lend", and reports all other events.
type tlsLender struct {
	*lender
	greeting string // written before it lends
	secure   chan *tls.Conn
}

func (l *tlsLender) OnData(c *conn.Conn) error {
	if p, _ := c.Peek(-1); string(p) != "lend" {
		return l.lender.OnData(c)
	}
	if t, s := c.LendTLS(); t != nil || s != nil || c.Lend() != nil {
		return errors.New("lent with something unread, or as a Socket")
	}
	_, _ = c.Discard(-1)
	if _, err := c.WriteString(l.greeting); err != nil {
		return err
	}
	t, s := c.LendTLS()
	if again, _ := c.LendTLS(); again != nil {
		return errors.New("lent twice")
	}
	l.handle <- c.Handle()
	l.secure <- t
	l.lent <- s
	return nil
}

func onTLSLenders(t *testing.T, test func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config)) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, func(cfg *conn.Config) { cfg.LingerTimeout = 2 * time.Second })
		l := &tlsLender{newLender(), "greeting", make(chan *tls.Conn, 10)}
		f.listenTLS(s.server, l)
		test(t, f, l, s.client)
	})
}

func (l *tlsLender) begin(t *testing.T, c net.Conn) (*tls.Conn, *conn.Socket, conn.Handle) {
	t.Helper()
	write(t, c, "lend")
	require.Equal(t, l.greeting, string(read(t, c, len(l.greeting))), "what was written before")
	return conntest.Receive(t, l.secure), conntest.Receive(t, l.lent), conntest.Receive(t, l.handle)
}

// runDry makes the Read that Return needs.
func runDry(t *testing.T, c *tls.Conn, s *conn.Socket) {
	t.Helper()
	require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// One tls.Conn encrypts for goroutines and for the task by turns.
func TestALentConnectionComesAndGoesWithItsTLS(t *testing.T) {
	onTLSLenders(t, func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config) {
		for _, version := range tlsVersions {
			cfg := client.Clone()
			cfg.MinVersion, cfg.MaxVersion = version, version
			c := f.dialTLS(cfg)
			for range 20 {
				lent, s, _ := l.begin(t, c)
				sent := make(chan error, 1)
				go func() { _, err := lent.Write(noise); sent <- err }()
				require.True(t, string(noise) == string(read(t, c, len(noise))))
				require.NoError(t, conntest.Receive(t, sent))
				go func() { _, err := c.Write(noise[:100_000]); sent <- err }()
				require.True(t, string(noise[:100_000]) == string(read(t, lent, 100_000)))
				require.NoError(t, conntest.Receive(t, sent))
				runDry(t, lent, s)
				require.True(t, s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil }))
				write(t, c, "more")
				l.requireTold(t, "returned", "data more")
			}
			require.NoError(t, c.CloseWrite())
			l.requireTold(t, "end")
			require.NoError(t, c.Close())
		}
	})
}

// The function given to Return may lend the connection again at once. Then the new borrower gets
// the next bytes, and no worker reads from the connection.
func TestAConnectionWithTLSIsLentAgainOnItsWayBack(t *testing.T) {
	onTLSLenders(t, func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config) {
		c := f.dialTLS(client)
		lent, s, _ := l.begin(t, c)
		for range 20 {
			runDry(t, lent, s)
			require.True(t, s.Return(func(c *conn.Conn) error {
				again, under := c.LendTLS()
				l.secure <- again
				l.lent <- under
				return nil
			}))
			lent, s = conntest.Receive(t, l.secure), conntest.Receive(t, l.lent)
			write(t, c, "more")
			require.Equal(t, "more", string(read(t, lent, 4)))
		}
		runDry(t, lent, s)
		require.True(t, s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil }))
		write(t, c, "last")
		l.requireTold(t, "returned", "data last")
	})
}

// The task decrypts a record that has arrived in part when the connection is given back. It also
// decrypts one that arrives on the way back.
func TestRecordsOnTheWayBackAreDecryptedByTheTask(t *testing.T) {
	onTLSLenders(t, func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config) {
		raw := f.dial()
		half := &halves{Conn: raw}
		c := tls.Client(half, client)
		require.NoError(t, c.Handshake())
		lent, s, _ := l.begin(t, c)
		half.hold = true
		write(t, c, "halves")
		conntest.Eventually(t, func() bool { return s.Buffered() > 0 })
		runDry(t, lent, s)
		require.True(t, s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil }))
		half.release(t)
		l.requireTold(t, "returned", "data halves")

		_, s, h := l.begin(t, c)
		busy, release, ok := make(chan bool), make(chan bool), make(chan bool, 1)
		require.NoError(t, h.Do(func(*conn.Conn) { close(busy); <-release }))
		conntest.Receive(t, busy)
		require.NoError(t, h.Do(func(*conn.Conn) {
			ok <- s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil })
		}))
		write(t, c, "bytes")
		require.NoError(t, c.CloseWrite())
		require.NoError(t, raw.(*net.TCPConn).CloseWrite())
		conntest.Eventually(t, func() bool { data, end, again := h.Arrived(); return data && (end || again) })
		close(release)
		require.True(t, conntest.Receive(t, ok))
		l.requireTold(t, "returned", "data bytes", "end")
	})
}

// Bytes that goroutines have written and the kernel has not taken are ciphertext, and remain so.
func TestWhatIsUnsentOnTheWayBackIsNotEncryptedTwice(t *testing.T) {
	onTLSLenders(t, func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config) {
		c := f.dialTLS(client)
		for range 3 {
			lent, s, h := l.begin(t, c)
			sent, unsent := 0, make(chan int, 1)
			for behind := 0; behind < 2; { // until something is queued behind what flies, since nobody reads
				write(t, lent, string(noise[:16<<10]))
				sent += 16 << 10
				require.NoError(t, h.Do(func(c *conn.Conn) { unsent <- c.Unsent() }))
				if conntest.Receive(t, unsent) > 0 {
					behind++
				}
			}
			runDry(t, lent, s)
			require.True(t, s.Return(func(c *conn.Conn) error { _, err := c.WriteString("task"); return err }))
			require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience))) // the many steps above may have taken long
			for ; sent > 0; sent -= 16 << 10 {
				require.True(t, string(noise[:16<<10]) == string(read(t, c, 16<<10)))
			}
			require.Equal(t, "task", string(read(t, c, 4)))
		}
	})
}

// halves keeps the second half of a write back, if it is to.
type halves struct {
	net.Conn
	hold bool
	rest []byte
}

func (h *halves) Write(p []byte) (int, error) {
	if !h.hold {
		return h.Conn.Write(p)
	}
	h.rest = append(h.rest, p[len(p)/2:]...)
	_, err := h.Conn.Write(p[:len(p)/2])
	return len(p), err
}

func (h *halves) release(t *testing.T) {
	t.Helper()
	h.hold = false
	_, err := h.Conn.Write(h.rest)
	require.NoError(t, err)
}

// While it is lent nobody else's plaintext comes between the records.
func TestWhatIsSentToALentConnectionWithTLSIsDropped(t *testing.T) {
	onTLSLenders(t, func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config) {
		c := f.dialTLS(client)
		lent, s, h := l.begin(t, c)
		require.NoError(t, h.Send([]byte("plain")))
		wrote := make(chan error, 1)
		require.NoError(t, h.Do(func(c *conn.Conn) { _, err := c.WriteString("plain"); wrote <- err }))
		require.ErrorIs(t, conntest.Receive(t, wrote), net.ErrClosed)
		write(t, lent, "answer")
		require.Equal(t, "answer", string(read(t, c, 6)))
		runDry(t, lent, s)
		require.True(t, s.Return(func(c *conn.Conn) error { _, err := c.WriteString("task"); return err }))
		require.Equal(t, "task", string(read(t, c, 4)))

		lent, _, _ = l.begin(t, c) // for good
		require.NoError(t, lent.Close())
		p, err := io.ReadAll(c)
		require.NoError(t, err, "it ends with close-notify")
		require.Empty(t, p)
	})
}

// A record cut short is an error for the connection's owner, goroutine or handler.
func TestALentConnectionWithTLSThatIsCutShortSaysSo(t *testing.T) {
	onTLSLenders(t, func(t *testing.T, f *fixture, l *tlsLender, client *tls.Config) {
		half := &halves{Conn: f.dial()}
		c := tls.Client(half, client)
		lent, _, _ := l.begin(t, c)
		half.hold = true
		write(t, c, "cut short")
		require.NoError(t, half.Conn.(*net.TCPConn).CloseWrite())
		_, err := lent.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NoError(t, lent.Close())
	})
}
