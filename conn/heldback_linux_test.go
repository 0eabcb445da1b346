package conn_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// The origin has sent all that it is let, or all that it has. It is not idle while the client takes
// some of it.
func TestASideOfASpliceIsNotIdleWhileTheOtherOneTakesBytes(t *testing.T) {
	const answer, piece, pieces = 12 << 20, 64 << 10, 40
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, ended := range map[string]bool{"held back": false, "has ended": true} {
			t.Run(name, func(t *testing.T) {
				conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
					p := newProxy(t, backend, 2, func(cfg *conn.Config) { cfg.IdleTimeout = limit })
					client, origin := p.pair()
					defer client.Close()
					defer origin.Close()
					require.NoError(t, client.SetReadBuffer(64<<10))
					size := answer
					if ended {
						size = piece * pieces
					}
					go func() {
						_ = speakPart(origin, size)
						if ended {
							_ = origin.CloseWrite()
						}
					}()
					for i := range pieces - 4 { // nearly four times the limit in all
						if err := take(client, piece); err != nil {
							return fmt.Errorf("piece %d: %w", i, err)
						}
						if i%4 == 3 { // see TestAPeerThatTakesLittleAtATimeOutlivesEveryLimit
							alive()
						}
						time.Sleep(limit / 10)
					}
					if ended {
						if err := take(client, 4*piece); err != nil {
							return err
						}
						if _, err := io.ReadFull(client, make([]byte, 1)); err != io.EOF {
							return fmt.Errorf("at the end: %w", err)
						}
					}
					return nil
				})
			})
		}
	})
}

// A peer whose bytes wait in the kernel is not idle.
func TestAPeerThatIsReadSlowlyIsNotIdle(t *testing.T) {
	const size, piece = 12 << 20, 8 << 10
	conntest.Backends(t, func(t *testing.T, backend string) {
		t.Run("Stream", func(t *testing.T) {
			conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
				result := make(chan error, 1)
				f := sequential(t, backend, 2, func(cx *sched.Context, s *conn.Stream) error {
					result <- func() error {
						for i := range 40 {
							if _, err := io.ReadFull(s, make([]byte, piece)); err != nil {
								return fmt.Errorf("piece %d: %w", i, err)
							}
							alive()
							if _, err := sched.Await(cx, sched.Sleep(limit/10)); err != nil {
								return err
							}
						}
						return nil
					}()
					return nil
				}, func(cfg *conn.Config) { cfg.IdleTimeout, cfg.LingerTimeout = limit, limit/10 })
				c := f.dial()
				defer c.Close()
				go func() { _ = speakPart(c, size) }()
				return conntest.Receive(t, result)
			})
		})
		t.Run("a handler that pauses", func(t *testing.T) {
			conntest.Punctual(t, 100*time.Millisecond, func(limit time.Duration, alive func()) error {
				paused, closed := make(chan conn.Handle, 1), make(chan error, 1)
				f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
					_, _ = c.Discard(1)
					if c.Buffered() > 0 {
						select {
						case paused <- c.Handle():
						default:
						}
						return c.PauseRead()
					}
					return nil
				}, close: func(_ *conn.Conn, err error) { closed <- err }}, func(cfg *conn.Config) { cfg.IdleTimeout, cfg.LingerTimeout = limit, limit })
				c := f.dial()
				defer c.Close()
				write(t, c, "some bytes")
				h := conntest.Receive(t, paused)
				alive()
				conntest.Rest(3*limit, limit, alive) // not for anything to happen, but for nothing to
				require.Empty(t, closed)
				resumed := make(chan net.Addr, 1)
				require.NoError(t, h.Do(func(c *conn.Conn) {
					_, _ = c.Discard(-1)
					resumed <- c.RemoteAddr()
					_ = c.ResumeRead()
				}))
				conntest.Receive(t, resumed)
				require.Error(t, conntest.Receive(t, closed), "now it is idle")
				return nil
			})
		})
	})
}
