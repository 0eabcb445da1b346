package packet_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// stuck is a task that runs until it is closed.
type stuck chan struct{}

func (s stuck) Run(*sched.Context) bool {
	s <- struct{}{}
	<-s
	return true
}

// stickAll blocks each worker in a task until release is called.
func (f *fixture) stickAll() (release func()) {
	f.t.Helper()
	all := make([]stuck, f.Runtime().Workers())
	for i := range all {
		all[i] = make(stuck)
		t := new(sched.Task)
		t.Init(f.Runtime(), all[i])
		t.Pin(i)
		t.Wake()
		conntest.Receive(f.t, all[i])
	}
	release = sync.OnceFunc(func() {
		for _, s := range all {
			close(s)
		}
	})
	f.t.Cleanup(release)
	return release
}

// Deadlines of goroutines need no worker, whether they are set before or after all workers are
// blocked.
func TestASocketsDeadlinesComeWhileAllWorkersAreInHandlers(t *testing.T) {
	const soon = 100 * time.Millisecond
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		pc := listenUDP(t, "udp4", "127.0.0.1:0")
		s, err := packet.ListenSocket(f, pc)
		require.NoError(t, err)
		defer s.Close()
		for _, before := range []bool{true, false} {
			require.NoError(t, s.SetDeadline(time.Time{}))
			read := make(chan error, 1)
			go func() {
				_, _, err := s.ReadFrom(make([]byte, 1))
				read <- err
			}()
			if before {
				require.NoError(t, s.SetReadDeadline(time.Now().Add(soon)))
			}
			release := f.stickAll()
			defer release()
			_, err := s.WriteTo([]byte("no worker is needed"), sink.LocalAddr())
			require.NoError(t, err)
			if !before {
				require.NoError(t, s.SetDeadline(time.Now().Add(soon)))
			}
			err = conntest.Receive(t, read)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			var op *net.OpError
			require.True(t, errors.As(err, &op) && op.Timeout())
			release()
		}
		require.NoError(t, s.SetDeadline(time.Time{}))
		_, err = s.WriteTo([]byte("it lives"), s.LocalAddr())
		require.NoError(t, err)
	})
}
