package timer

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func expireAll(w *Wheel, now uint64) []uint64 {
	var fired []uint64
	for e := w.Expire(now); e != nil; e = w.Expire(now) {
		fired = append(fired, e.When())
	}
	return fired
}

func TestTimersFireIffTheirDeadlineHasPassed(t *testing.T) {
	w := New(0)
	entries := make([]Entry, 1024)
	for i := range entries {
		w.Insert(&entries[i], uint64(i))
	}
	for now := range uint64(1100) {
		expireAll(w, now)
		for i := range entries {
			if pending := uint64(i) > now; entries[i].Pending() != pending { // a million of these: require takes half a minute under the race detector
				t.Fatalf("timer %d at %d: pending is %t, not %t", i, now, !pending, pending)
			}
		}
	}
	require.Zero(t, w.Len())
}

func TestDeadline193FiresAt193Only(t *testing.T) {
	w := New(0)
	var e Entry
	w.Insert(&e, 193)
	for _, now := range []uint64{62, 192, 192} {
		require.Empty(t, expireAll(w, now))
	}
	require.Equal(t, []uint64{193}, expireAll(w, 193))
}

func TestTimersBeyondTheLevelsFireInTurn(t *testing.T) {
	const year = 365 * 24 * 3600 * 1000
	w := New(12345)
	entries := make([]Entry, 6)
	for i := range 5 {
		w.Insert(&entries[i], uint64(i+1)*year)
	}
	w.Insert(&entries[5], 10*year)
	var fired []uint64
	for range 200_000 { // each step is one turn of the wheel, so this bounds the work too
		next, ok := w.Next()
		if !ok {
			break
		}
		fired = append(fired, expireAll(w, next)...)
	}
	require.Equal(t, []uint64{year, 2 * year, 3 * year, 4 * year, 5 * year, 10 * year}, fired)
}

func TestTheFurthestDeadlineDoesNotOverflow(t *testing.T) {
	w := New(7)
	var e, soon Entry
	w.Insert(&e, math.MaxUint64)
	w.Insert(&soon, 9)
	require.Equal(t, []uint64{9}, expireAll(w, 1<<40))
	require.True(t, e.Pending())
	require.True(t, w.Remove(&e))
	require.False(t, w.Remove(&e))
}

func TestEqualDeadlinesFireInOrderOfInsertion(t *testing.T) {
	w := New(0)
	const when = 70_000
	entries := make([]Entry, 40)
	for i := range entries { // from ever closer, so that they start on different levels
		entries[i].Value = i
		w.Insert(&entries[i], when)
		require.Empty(t, expireAll(w, uint64(i)*1700))
	}
	for i := range entries {
		require.Equal(t, i, w.Expire(when).Value)
	}
}
