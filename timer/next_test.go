package timer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A goroutine that sleeps until Next wakes in time for every entry, and not too often.
func TestNextIsNeverLaterThanTheNextExpiry(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		start := rng.Uint64N(1 << rng.UintN(40))
		w := New(start)
		entries := make([]Entry, 20)
		soonest := func() uint64 {
			soonest := uint64(math.MaxUint64)
			for i := range entries {
				if entries[i].Pending() {
					soonest = min(soonest, entries[i].When())
				}
			}
			return soonest
		}
		for range 100 {
			switch e := &entries[rng.IntN(len(entries))]; rng.IntN(3) {
			case 0, 1:
				w.Insert(e, w.Now()+rng.Uint64N(1<<rng.UintN(33)))
			case 2:
				w.Remove(e)
			}
			next, ok := w.Next()
			require.Equal(t, w.Len() > 0, ok)
			if !ok {
				continue
			}
			require.LessOrEqual(t, next, max(soonest(), w.Now()))
			earliest, ok := w.Earliest()
			require.True(t, ok)
			require.Equal(t, max(soonest(), w.Now()), earliest)
			if rng.IntN(2) == 0 {
				expireAll(w, next)
				require.GreaterOrEqual(t, w.Now(), next)
			}
		}
	}
}

func TestSleepingUntilNextTakesAStepPerLevelAtMost(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		w := New(rng.Uint64N(1 << 29))
		var e Entry
		w.Insert(&e, w.Now()+1+rng.Uint64N(span))
		steps := 0
		for e.Pending() {
			before := w.Now()
			next, ok := w.Next()
			require.True(t, ok)
			require.Greater(t, next, before, "each step goes forward")
			require.LessOrEqual(t, next, e.When())
			if fired := expireAll(w, next); len(fired) > 0 {
				require.Equal(t, e.When(), next)
			}
			steps++
		}
		require.LessOrEqual(t, steps, levels+1, "the levels, and the overflow list")
	}
}

func TestNextOfAWheelWithoutEntries(t *testing.T) {
	w := New(5)
	_, ok := w.Next()
	require.False(t, ok)
	_, ok = w.Earliest()
	require.False(t, ok)
	require.Nil(t, w.Expire(100))
	require.EqualValues(t, 100, w.Now())
	var e Entry
	w.Insert(&e, 1<<20)
	w.Remove(&e)
	_, ok = w.Next()
	require.False(t, ok, "an emptied slot is not looked at")
}
