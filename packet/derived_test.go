package packet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A context that a task derives from its own ends a receive, and no datagram is lost by that.
func TestAReceiveEndsWithADerivedContextAndLosesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		cause := errors.New("given up")
		receive := func(cx *sched.Context, p []byte, meanwhile func()) (int, error) {
			ctx, cancel := context.WithCancelCause(cx)
			go func() {
				meanwhile()
				cancel(cause)
			}()
			n, _, err := s.RecvFrom(ctx, p)
			if err != nil && (!errors.Is(err, context.Canceled) || !errors.Is(err, cause)) {
				return 0, fmt.Errorf("not by the end of the context: %w", err)
			}
			return n, err
		}
		const all = 200
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			p := make([]byte, 10)
			if _, err := receive(cx, p, func() {}); !errors.Is(err, cause) {
				return fmt.Errorf("nothing has been sent: %w", err)
			}
			for i := range all {
				want := fmt.Sprint(i)
				n, err := receive(cx, p, func() { _, _ = peer.WriteToUDPAddrPort([]byte(want), s.LocalAddr()) })
				if errors.Is(err, cause) { // it has arrived, or is about to
					n, _, err = s.RecvFrom(cx, p)
				}
				if err != nil {
					return err
				}
				if string(p[:n]) != want {
					return fmt.Errorf("%q came instead of %s", p[:n], want)
				}
			}
			return nil
		})))
	})
}
