package conn_test

import (
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

const endless = time.Duration(math.MaxInt64)

// tick returns when each timer of the group has fired that was due at once.
func (f *fixture) tick() {
	f.t.Helper()
	_, err := sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
		return sched.Await(cx, sched.Sleep(10*time.Millisecond))
	}).Wait(f.t.Context())
	require.NoError(f.t, err)
}

// Time-outs and deadlines that are as late as can be never pass, whatever the time is.
func TestEndlessDeadlinesNeverPass(t *testing.T) {
	for name, far := range map[string]func() time.Time{
		"a duration from now":   func() time.Time { return time.Now().Add(endless) },
		"beyond what it can be": func() time.Time { return time.Unix(1<<40, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				closed, onClose := ends(1)
				f := serve(t, backend, 1, funcs{
					open: func(c *conn.Conn) error {
						return errors.Join(c.SetIdleTimeout(endless), c.SetLingerTimeout(endless), c.SetDeadline(far()))
					},
					data: func(c *conn.Conn) error {
						p, _ := c.Next(-1)
						if string(p) != "bye" {
							_, err := c.Write(p)
							return err
						}
						_, err := c.Write(make([]byte, 1<<20))
						return errors.Join(err, c.Close())
					},
					close: onClose,
				})
				c := f.dial()
				write(t, c, "hello")
				read(t, c, 5)
				f.tick()
				write(t, c, "bye")
				f.tick()
				require.Len(t, readEOF(t, c), 1<<20)
				f.tick()
				require.Empty(t, closed, "it waits for the peer's end")
				require.NoError(t, c.Close())
				require.NoError(t, conntest.Receive(t, closed))

				f.listenTo(conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
					if err := s.SetDeadline(far()); err != nil {
						return err
					}
					_, err := io.Copy(s, s)
					return err
				}))
				c = f.dial()
				for range 2 {
					write(t, c, "hello")
					read(t, c, 5)
					f.tick()
				}
			})
		})
	}
}
