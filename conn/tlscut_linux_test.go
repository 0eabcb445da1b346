package conn_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A stalledCache holds a handshake of TLS 1.2 up at its end, when the peer's part is complete.
type stalledCache struct{ reached, release chan struct{} }

func (stalledCache) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

func (c stalledCache) Put(string, *tls.ClientSessionState) {
	c.reached <- struct{}{}
	<-c.release
}

// A peer whose part of the handshake is complete may send and reset the connection before our part
// is. All that it has sent is handled, and then the connection ends by the reset.
func TestWhatAPeerSendsBeforeAResetOutlivesTheHandshake(t *testing.T) {
	s := newSecret(t)
	for _, way := range []string{"callbacks", "sequential", "splice"} {
		for _, size := range []int{1 << 10, 60 << 10} {
			for _, finishes := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d bytes, close-notify %v", way, size, finishes), func(t *testing.T) {
					conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
						stalled := stalledCache{make(chan struct{}), make(chan struct{})}
						cfg := s.version(tls.VersionTLS12)
						cfg.ClientSessionCache = stalled
						origin := silentTCP(t)
						f := newFixture(t, backend, workers)
						got, ended := f.receiveTLS(way, origin.Addr(), conn.TLSConfig{Config: cfg})
						raw := acceptTCP(t, origin)
						up := tls.Server(raw, s.server.Config)
						write(t, up, string(noise[:size]))
						if finishes {
							require.NoError(t, up.CloseWrite())
							require.NoError(t, raw.CloseWrite())
						}
						conntest.Receive(t, stalled.reached)
						acknowledged(t, raw)
						f.rounds(20)
						reset(raw)
						f.rounds(20) // the reset is likely known by then
						close(stalled.release)
						err := conntest.Receive(t, ended)
						require.EqualValues(t, size, got.Load())
						if !finishes { // else the answer to its end may be what fails
							requireReset(t, err)
						}
						conntest.Eventually(t, func() bool { return f.Len() == 0 })
					})
				})
			}
		}
	}
}

// receiveTLS counts the bytes that come from the address, by a kind of handler, and tells how the
// connection ends.
func (f *fixture) receiveTLS(way string, addr net.Addr, cfg conn.TLSConfig) (got *atomic.Int64, ended <-chan error) {
	f.t.Helper()
	got, ends := new(atomic.Int64), make(chan error, 2)
	var h conn.Handler
	switch way {
	case "callbacks":
		h = funcs{data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			got.Add(int64(len(p)))
			return nil
		}, eof: (*conn.Conn).Close, close: func(_ *conn.Conn, err error) { ends <- err }}
	case "sequential":
		h = conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
			n, err := io.Copy(io.Discard, s)
			got.Add(n)
			ends <- err
			return nil
		})
	case "splice":
		f.listen("tcp", "127.0.0.1:0", funcs{data: leave, eof: ignore, open: func(a *conn.Conn) error {
			b, err := a.Dial(addr, conn.ConnectTLS(cfg, funcs{data: leave, eof: ignore}))
			if err == nil {
				_, err = conn.Splice(a, b, nil)
			}
			return err
		}})
		client := f.dial()
		go func() {
			n, err := io.Copy(io.Discard, client)
			got.Add(n)
			_ = client.Close()
			ends <- err
		}()
		return got, ends
	}
	_, err := f.Dial(addr, conn.ConnectTLS(cfg, h))
	require.NoError(f.t, err)
	return got, ends
}
