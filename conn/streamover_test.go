package conn_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// The waits of a handler's functions end with the connection, whichever side ends it, and whether
// other tasks use it or not.
func TestTheWaitsOfAStreamEndWithItsConnection(t *testing.T) {
	for name, shares := range map[string]bool{"shared": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				for wait, f := range map[string]func(cx *sched.Context, s *conn.Stream) error{
					"Read": func(_ *sched.Context, s *conn.Stream) error {
						_, err := s.Read(make([]byte, 1))
						return err
					},
					"Write": func(_ *sched.Context, s *conn.Stream) error {
						for {
							if _, err := s.Write(noise); err != nil {
								return err
							}
						}
					},
					"Closed": func(cx *sched.Context, s *conn.Stream) error {
						_, err := sched.Await(cx, s.Closed())
						return err
					},
				} {
					t.Run(wait, func(t *testing.T) {
						handles, errs := make(chan conn.Handle, 1), make(chan error, 1)
						g := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
							if shares {
								s.Socket()
							}
							if _, err := s.Read(make([]byte, 1)); err != nil { // it is shared from here on
								return err
							}
							handles <- s.Handle()
							errs <- f(cx, s)
							return nil
						})
						c := g.dial()
						write(t, c, "x")
						require.NoError(t, conntest.Receive(t, handles).Close())
						err := conntest.Receive(t, errs)
						if wait != "Closed" && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
							t.Error(err)
						}
						if wait == "Read" {
							readEOF(t, c)
						}
						_ = c.Close()
						conntest.Eventually(t, func() bool { return g.Len() == 0 })
					})
				}
			})
		})
	}
}

// A function that has ended its output, and whose peer has done the same, learns that the
// connection is over.
func TestAStreamWhoseTwoDirectionsHaveEndedIsClosed(t *testing.T) {
	for name, shares := range map[string]bool{"shared": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				errs := make(chan error, 1)
				g := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
					if shares {
						s.Socket()
					}
					_, err := s.Read(make([]byte, 1))
					if err == nil {
						err = s.CloseWrite()
					}
					if err == nil {
						_, err = sched.Await(cx, s.Closed())
					}
					if err == nil {
						var rest []byte
						if rest, err = io.ReadAll(s); string(rest) != "rest" && err == nil {
							err = errors.New("read " + string(rest))
						}
					}
					errs <- err
					return nil
				})
				c := g.dial().(*net.TCPConn)
				write(t, c, "x")
				readEOF(t, c)
				write(t, c, "rest")
				require.NoError(t, c.CloseWrite())
				require.NoError(t, conntest.Receive(t, errs))
				conntest.Eventually(t, func() bool { return g.Len() == 0 })
			})
		})
	}
}
