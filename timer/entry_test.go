package timer

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// offsets are offsets for every level, at both sides of its borders, and beyond.
func offsets() []uint64 {
	all := []uint64{0, 1}
	for level := 1; level <= levels; level++ {
		border := uint64(1) << (level * slotBits)
		all = append(all, border-1, border, border+1)
	}
	return append(all, 5*span+7)
}

func TestAnEntryInsertedAgainExpiresAtTheNewTickOnly(t *testing.T) {
	const start = 1_000_003
	for _, first := range offsets() {
		for _, second := range offsets() {
			w := New(start)
			var e Entry
			w.Insert(&e, start+first)
			w.Insert(&e, start+second)
			require.Equal(t, 1, w.Len())
			if second > 0 {
				require.Empty(t, expireAll(w, start+second-1), "from +%d to +%d", first, second)
			}
			require.Equal(t, []uint64{start + second}, expireAll(w, start+second), "from +%d to +%d", first, second)
			require.Empty(t, expireAll(w, start+10*span))
			require.Zero(t, w.Len())
		}
	}
}

func TestAnEntryMayBeRemovedAndArmedAgainBetweenExpires(t *testing.T) {
	w := New(0)
	entries := make([]Entry, 6)
	for i := range entries {
		entries[i].Value = i
		w.Insert(&entries[i], uint64(10+i/3)) // three at 10, three at 11
	}
	require.Equal(t, 0, w.Expire(100).Value)
	require.True(t, w.Remove(&entries[1]), "due, and not handed out yet")
	w.Insert(&entries[0], 11)  // in what Expire has still to go through
	w.Insert(&entries[2], 200) // out of due
	w.Insert(&entries[3], 5)   // in the past: at once
	var fired []int
	for e := w.Expire(100); e != nil; e = w.Expire(100) {
		fired = append(fired, e.Value.(int))
		require.False(t, e.Pending())
		require.False(t, w.Remove(e), "handed out")
	}
	require.Equal(t, []int{3, 4, 5, 0}, fired)
	require.Equal(t, 1, w.Len())
	require.Equal(t, 2, w.Expire(200).Value)
}

func TestAnEntryThatRearmsItselfInThePastDoesNotHideTheOthers(t *testing.T) {
	w := New(50)
	var past, other Entry
	w.Insert(&past, 3)
	w.Insert(&other, 60)
	seen := 0
	for range 10 { // the wheel stays at 50 until nothing is due there
		e := w.Expire(70)
		if e == &past {
			seen++
			if seen < 5 {
				w.Insert(e, 3)
			}
		}
	}
	require.Equal(t, 5, seen)
	require.False(t, other.Pending())
	require.EqualValues(t, 70, w.Now())
}

func TestInsertionInThePastExpiresAtTheNextExpire(t *testing.T) {
	w := New(1000)
	for _, when := range []uint64{0, 1, 999, 1000} {
		var e Entry
		w.Insert(&e, when)
		next, ok := w.Next()
		require.True(t, ok)
		require.EqualValues(t, 1000, next)
		require.Same(t, &e, w.Expire(0), "whatever time it is given")
		require.Equal(t, when, e.When())
	}
	require.EqualValues(t, 1000, w.Now(), "time does not go back")
}

func TestTimeDoesNotGoBack(t *testing.T) {
	w := New(1000)
	var e Entry
	w.Insert(&e, 1500)
	require.Nil(t, w.Expire(1400))
	require.Nil(t, w.Expire(10))
	require.EqualValues(t, 1400, w.Now())
	require.Same(t, &e, w.Expire(1500))
}

// Ticks whose upper bits are those of a negative int, of 32 bits or of 64.
func TestTicksThatDoNotFitAnInt(t *testing.T) {
	for _, start := range []uint64{1<<31 - 10, 1<<31 + 10, 1<<32 - 10, 1<<63 - 10, 1<<63 + 10} {
		w := New(start)
		var near, far Entry
		w.Insert(&near, start+50)
		w.Insert(&far, start+100_000)
		require.Equal(t, []uint64{start + 50}, expireAll(w, start+99_999))
		require.Equal(t, []uint64{start + 100_000}, expireAll(w, start+100_000))
	}
}

func TestEntriesNearTheEndOfTime(t *testing.T) {
	w := New(math.MaxUint64 - 3*span)
	entries := make([]Entry, 4)
	for i, when := range []uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - span, math.MaxUint64 - 2*span} {
		w.Insert(&entries[i], when)
	}
	require.Len(t, expireAll(w, math.MaxUint64-1), 3)
	require.Equal(t, []uint64{math.MaxUint64}, expireAll(w, math.MaxUint64))
	var late Entry
	w.Insert(&late, math.MaxUint64)
	require.Same(t, &late, w.Expire(math.MaxUint64))
}

func TestNothingAllocates(t *testing.T) {
	w := New(0)
	entries := make([]Entry, 256)
	now := uint64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range entries {
			w.Insert(&entries[i], now+uint64(i*i))
		}
		w.Remove(&entries[7])
		now += 70_000
		for e := w.Expire(now); e != nil; e = w.Expire(now) {
			_ = e
		}
	}))
}
