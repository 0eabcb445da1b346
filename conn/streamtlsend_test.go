package conn_test

import (
	"crypto/tls"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A write that has succeeded while the connection's task ends the output comes before the
// close-notify.
func TestTheCloseNotifyOfASharedStreamFollowsWrites(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	ends := map[string]func(c *conn.Conn) error{
		"CloseWrite": (*conn.Conn).CloseWrite,
		"Close":      (*conn.Conn).Close,
		"flushed": func(c *conn.Conn) error {
			_ = c.CloseWrite()
			return c.Flush()
		},
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				socks := make(chan *conn.Socket, 1)
				handles := make(chan conn.Handle, 1)
				h := conn.ServeTLS(conn.TLSConfig{Config: &tls.Config{Certificates: []tls.Certificate{cert}}}, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
					handles <- s.Handle()
					socks <- s.Socket()
					_, err := s.Read(make([]byte, 1))
					return err
				}))
				f := newFixture(t, backend, 2)
				f.listenTo(h)
				raw := f.dial()
				c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "localhost"})
				require.NoError(t, c.Handshake())
				k, hd := conntest.Receive(t, socks), conntest.Receive(t, handles)
				_, err := k.Write([]byte("first "))
				require.NoError(t, err)
				in, goOn := make(chan struct{}), make(chan struct{})
				require.NoError(t, hd.Do(func(c *conn.Conn) {
					close(in)
					<-goOn
					_ = end(c)
				}))
				conntest.Receive(t, in)
				_, err = k.Write([]byte("second"))
				require.NoError(t, err)
				close(goOn)
				got, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Equal(t, "first second", string(got))
			})
		}
	})
}
