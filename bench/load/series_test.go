package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASeriesHasWhatWasDueInItsWindow(t *testing.T) {
	var none series
	none.note(-time.Second, time.Millisecond) // of a closed loop, from before it measures
	none.note(time.Second, time.Millisecond)
	require.Empty(t, none.p99s())

	s := newSeries(2*Slice, float64(time.Millisecond))
	for _, due := range []time.Duration{-time.Second, -1, 2 * Slice, time.Hour} {
		s.note(due, time.Hour)
	}
	require.Empty(t, s.p99s())
	for i := range 100 {
		s.note(time.Duration(i), time.Duration(i+1))
		s.note(Slice+time.Duration(i), 1000*time.Duration(i+1))
	}
	require.Equal(t, []time.Duration{99, 99_000}, s.p99s())
}
