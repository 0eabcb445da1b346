package conn_test

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A goroutine uses the Stream of a function that waits for it: of the handler or of a branch. That
// is an error that says what to use.
func TestAGoroutineInAStreamIsRefused(t *testing.T) {
	calls := map[string]func(s *conn.Stream) error{
		"Read":          func(s *conn.Stream) error { _, err := s.Read(make([]byte, 1)); return err },
		"ReadFull":      func(s *conn.Stream) error { _, err := s.ReadFull(make([]byte, 1)); return err },
		"TryRead":       func(s *conn.Stream) error { _, err := s.TryRead(make([]byte, 1)); return err },
		"a small Write": func(s *conn.Stream) error { _, err := s.Write([]byte("half way")); return err },
		"Flush":         func(s *conn.Stream) error { return s.Flush() },
		"CloseWrite":    func(s *conn.Stream) error { return s.CloseWrite() },
		"Peek":          func(s *conn.Stream) error { _, err := s.Peek(1); return err },
		"Write": func(s *conn.Stream) error {
			_, err := s.Write(make([]byte, 64<<20)) // more than all buffers hold
			return err
		},
		"ReadFrom a file": func(s *conn.Stream) error {
			f, err := os.Open("/dev/zero")
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = s.ReadFrom(io.LimitReader(f, 64<<20))
			return err
		},
	}
	wait := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done // the function runs: it does not await
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				refusals := make(chan error, 3)
				refuse := func(s *conn.Stream) { wait(func() { refusals <- call(s) }) }
				f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
					refuse(s)
					return s.Go(func(*sched.Context) error { refuse(s); return nil }).Join(cx)
				})
				c := f.dial()
				defer c.Close()
				for range 2 {
					require.ErrorContains(t, conntest.Receive(t, refusals), "a goroutine uses Socket()")
				}
			})
		})
	}
}
