package conn_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// The peer counts the allocations of the whole process, so a few for something else are allowed.
func TestReadsInPlaceAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops at random under the race detector")
	}
	const message = "0123456789abcdef"
	onEachStream(t, func(_ *sched.Context, s *conn.Stream) error {
		for {
			switch p, err := s.Peek(len(message)); {
			case err == io.EOF:
				return nil
			case err != nil:
				return err
			case string(p) != message:
				return fmt.Errorf("%q", p)
			}
			p, err := s.Next(4)
			if err != nil {
				return err
			}
			if _, err := s.Write(p); err != nil {
				return err
			}
			if _, err := s.Discard(len(message) - 4); err != nil {
				return err
			}
		}
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		request, reply := []byte(message), make([]byte, 4)
		exchange := func() {
			if _, err := c.Write(request); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(c, reply); err != nil {
				t.Error(err)
			}
		}
		for range 100 {
			exchange()
		}
		per := testing.AllocsPerRun(500, exchange)
		if linux := strings.Contains(t.Name(), "/epoll/") || strings.Contains(t.Name(), "/io_uring/"); linux {
			require.Less(t, per, 0.5) // other reactors, such as the emulated kqueue, allocate themselves
		}
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, done))
	})
}
