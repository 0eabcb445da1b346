package deadlines

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheEndOfAPeriodOfLingering(t *testing.T) {
	parting := Outflow{Taken: 100, Kept: 50}
	moved, acknowledged := Outflow{Taken: 100, Kept: 10}, Outflow{Taken: 100}
	for name, c := range map[string]struct {
		shortened, finished bool
		dropped, more       int // before Shorten, and after it
		flow                Outflow
		late                bool // the last deadline has passed
		want                Verdict
	}{
		"all is sent":                              {finished: true, flow: parting, want: Over},
		"all is sent, some was taken":              {finished: true, flow: moved, want: Over},
		"something is unsent, some was taken":      {flow: moved, want: Another},
		"something is unsent, nothing was taken":   {flow: parting, want: TooSlow},
		"flooded, some was taken":                  {finished: true, dropped: MaxDropped + 1, flow: moved, want: Another},
		"flooded, nothing was taken":               {finished: true, dropped: MaxDropped + 1, flow: parting, want: Cut},
		"as much as may be dropped":                {finished: true, dropped: MaxDropped, flow: parting, want: Over},
		"a drain, all acknowledged":                {shortened: true, finished: true, flow: acknowledged, want: Over},
		"a drain, not all acknowledged":            {shortened: true, finished: true, flow: moved, want: Wait},
		"a drain, the peer sends":                  {shortened: true, finished: true, more: 1, flow: acknowledged, want: Wait},
		"a drain, the peer has sent before":        {shortened: true, finished: true, dropped: 1, flow: acknowledged, want: Over},
		"a drain, flooded":                         {shortened: true, finished: true, dropped: MaxDropped + 1, flow: acknowledged, want: Wait},
		"a drain, not all acknowledged, too late":  {shortened: true, finished: true, flow: moved, late: true, want: Over},
		"a drain, flooded, too late":               {shortened: true, finished: true, dropped: MaxDropped + 1, flow: parting, late: true, want: Cut},
		"a drain, something unsent, nothing taken": {shortened: true, flow: parting, want: TooSlow},
	} {
		t.Run(name, func(t *testing.T) {
			var k Clock
			k.Linger(0, time.Hour)
			k.Parting(parting)
			k.Drop(c.dropped)
			now := time.Hour
			if c.shortened {
				k.Shorten(0)
				now = DrainLinger
			}
			k.Drop(c.more)
			if c.late {
				now = time.Hour
			}
			require.Equal(t, []Kind{Linger}, slices.Collect(k.Due(now)))
			require.Equal(t, c.want, k.Lingered(now, c.finished, c.flow))
			require.Equal(t, c.want == Wait, k.Lingers(), "who waits has a deadline")
		})
	}
}

// A period that was shortened comes to an end when it would have without that, however often it
// was shortened.
func TestAShortenedPeriodHasTheEndItHad(t *testing.T) {
	const whole = 3*DrainLinger - ms
	var k Clock
	k.Linger(0, whole)
	k.Shorten(0)
	var ends []time.Duration
	for now := k.Next(); ; now = k.Next() {
		ends = append(ends, now)
		if k.Lingered(now, true, Outflow{Kept: 1}) != Wait {
			break
		}
		require.Less(t, len(ends), 10, "it does not end")
	}
	require.Equal(t, []time.Duration{DrainLinger, 2 * DrainLinger, whole}, ends)
	k.Linger(time.Hour, whole)
	require.Equal(t, time.Hour+whole, k.Next())
	k.Shorten(time.Hour)
	require.Equal(t, time.Hour+DrainLinger, k.Next(), "the next period is of its own")
}

func TestDropSaysWhenAConnectionIsFlooded(t *testing.T) {
	var k Clock
	require.False(t, k.Drop(MaxDropped))
	require.False(t, k.EndsByReset())
	require.True(t, k.Drop(1))
	require.True(t, k.EndsByReset())
}

func TestEachLookOfAFloodedConnectionIsTwiceAsLate(t *testing.T) {
	var k Clock
	now := time.Duration(0)
	for _, pause := range []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms} {
		require.True(t, k.LookDue())
		k.LookLater(now)
		require.False(t, k.LookDue())
		require.Equal(t, now+pause, k.Next())
		now = k.Next()
		require.Equal(t, []Kind{Look}, slices.Collect(k.Due(now)))
	}
}
