package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// Unread bytes of a lent connection stay in the kernel, except for a small window. None are lost.
func TestALentConnectionKeepsASmallWindow(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		c := f.dial()
		s, _ := l.begin(t, c)
		sent := make(chan error, 1)
		go func() {
			var err error
			for i := 0; i < 8 && err == nil; i++ {
				err = writeAll(c, noise)
			}
			sent <- err
		}()
		conntest.Eventually(t, s.Paused)
		for range 20 { // whatever more the reactor brings
			f.rounds(2)
			require.LessOrEqual(t, s.Buffered(), 160<<10, "64 KiB, and what one receive brings")
		}
		for range 8 {
			require.Equal(t, noise, read(t, s, len(noise)))
		}
		require.NoError(t, conntest.Receive(t, sent))
		require.NoError(t, s.Close())
	})
}
