package conn_test

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// crypto/tls runs on a stream as it is: handshakes of both versions, megabytes each way,
// and the close-notify.
func TestTLSRunsOnStreamsUnmodified(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
			c := tls.Server(s, &tls.Config{Certificates: []tls.Certificate{cert}})
			defer c.Close()
			_, err := io.Copy(c, c)
			return err
		})
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			conntest.Crowd(t, 20, 20, func(i int) error {
				raw, err := dial(f.addr)
				if err != nil {
					return err
				}
				c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: version, MaxVersion: version})
				defer c.Close()
				sent := noise[i*1000:]
				go func() {
					if _, err := c.Write(sent); err == nil {
						_ = c.CloseWrite()
					}
				}()
				h := sha256.New()
				if n, err := io.Copy(h, c); err != nil || int(n) != len(sent) {
					return fmt.Errorf("%d of %d bytes came back: %v", n, len(sent), err)
				}
				if want := sha256.Sum256(sent); string(h.Sum(nil)) != string(want[:]) {
					return fmt.Errorf("what came back is not what was sent")
				}
				return nil
			})
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// The client's side runs on a stream, too.
func TestAStreamDialsWithTLS(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	require.NoError(t, err)
	defer ln.Close()
	conntest.ServeEach(ln, func(_ int, c net.Conn) {
		defer c.Close()
		_, _ = io.Copy(c, c)
	})
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		got := make(chan error, 1)
		_, err := f.Dial(ln.Addr(), conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
			c := tls.Client(s, &tls.Config{RootCAs: pool, ServerName: "localhost"})
			err := func() error {
				if _, err := c.Write([]byte("hello")); err != nil {
					return err
				}
				p := make([]byte, 5)
				if _, err := io.ReadFull(c, p); err != nil || string(p) != "hello" {
					return fmt.Errorf("read %q: %v", p, err)
				}
				return c.Close()
			}()
			got <- err
			return err
		}))
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, got))
	})
}
