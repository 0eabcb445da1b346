package conn_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Deadlines of goroutines need no worker: those that were set before all of them got stuck,
// and those that are set then.
func TestASocketsDeadlinesComeWhileAllWorkersAreInHandlers(t *testing.T) {
	const soon = 100 * time.Millisecond
	for _, c := range []struct {
		name   string
		waits  func(s *conn.Socket) error // until the deadline
		ready  func(s *conn.Socket) bool  // waits does wait
		before bool                       // the deadline is set before the workers get stuck
	}{
		{"a read", readsOne, (*conn.Socket).WaitsForData, false},
		{"a read, set before", readsOne, (*conn.Socket).WaitsForData, true},
		{"a write", writesMuch, (*conn.Socket).WaitsForRoom, false},
		{"a write, set before", writesMuch, (*conn.Socket).WaitsForRoom, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
				l := f.open("tcp", conn.SocketListenerConfig{})
				a, _, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), l.Addr()) })
				require.NoError(t, err)
				defer stop()
				s := a.(*conn.Socket)
				ended := make(chan error, 1)
				go func() { ended <- c.waits(s) }()
				conntest.Eventually(t, func() bool { return c.ready(s) })
				if c.before {
					require.NoError(t, s.SetDeadline(time.Now().Add(soon)))
				}
				release := f.stickAll(f.Runtime().Workers())
				defer release()
				if !c.before {
					require.NoError(t, s.SetDeadline(time.Now().Add(soon)))
				}
				err = conntest.Receive(t, ended)
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				var op *net.OpError
				require.True(t, errors.As(err, &op) && op.Timeout())
			})
		})
	}
}

func readsOne(s *conn.Socket) error {
	_, err := s.Read(make([]byte, 1))
	return err
}

func writesMuch(s *conn.Socket) error {
	_, err := s.Write(bytes.Repeat(noise, 256))
	return err
}
