package conn_test

import (
	"testing"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A connection that waits for its peer has no mailbox, however its last message was sent.
func TestAnIdleConnectionHasNoMailbox(t *testing.T) {
	for name, flush := range map[string]bool{"at the end of a run": false, "by Flush": true} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				handles := make(chan conn.Handle, 1)
				f := sequential(t, backend, 1, func(_ *sched.Context, s *conn.Stream) error {
					handles <- s.Handle()
					for {
						p, err := s.Next(-1)
						if err != nil {
							return nil
						}
						if _, err = s.Write(p); err == nil && flush {
							err = s.Flush()
						}
						if err != nil {
							return err
						}
					}
				})
				c := f.dial()
				h := conntest.Receive(t, handles)
				for range 3 {
					write(t, c, "x")
					read(t, c, 1)
					conntest.Eventually(t, func() bool { return !h.HasMailbox() })
				}
			})
		})
	}
}
