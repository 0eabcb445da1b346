package alarm_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A deadline that is set in a bubble is one of real time, wherever the timer was made.
func TestABellThatWasSetOutsideRingsForABubble(t *testing.T) {
	for _, before := range []time.Duration{time.Hour, 20 * time.Millisecond} {
		d := newDoor()
		d.ahead(before)
		if before < time.Hour {
			conntest.Receive(t, d.passed)
		}
		began := time.Now()
		synctest.Test(t, func(t *testing.T) {
			d.ahead(20 * time.Millisecond)
			d.ahead(40 * time.Millisecond)
		})
		at := conntest.Receive(t, d.passed)
		require.GreaterOrEqual(t, at.Sub(began), 40*time.Millisecond)
		require.True(t, d.hasPassed())
		began = time.Now()
		d.ahead(20 * time.Millisecond) // outside again
		require.GreaterOrEqual(t, conntest.Receive(t, d.passed).Sub(began), 20*time.Millisecond)
	}
}
