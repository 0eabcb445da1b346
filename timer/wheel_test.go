package timer

import (
	"math"
	"math/rand/v2"
	"slices"
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
			require.Equal(t, uint64(i) > now, entries[i].Pending(), "timer %d at %d", i, now)
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

// The wheel beside a sorted list, under the same random operations.
func TestWheelAgreesWithASortedList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type model struct{ when, seq uint64 }
	w := New(1000)
	now, seq := uint64(1000), uint64(0)
	entries := make([]Entry, 300)
	armed := map[*Entry]model{}
	for range 300_000 {
		e := &entries[rng.IntN(len(entries))]
		switch rng.IntN(4) {
		case 0, 1:
			seq++
			when := now + rng.Uint64N(1<<rng.UintN(34))
			armed[e] = model{when, seq}
			w.Insert(e, when)
		case 2:
			_, was := armed[e]
			delete(armed, e)
			require.Equal(t, was, w.Remove(e))
		case 3:
			now += rng.Uint64N(1 << rng.UintN(31))
			if next, ok := w.Next(); ok && rng.IntN(2) == 0 {
				now = max(now, next)
			}
			var want []model
			for e, m := range armed {
				if m.when <= now {
					want = append(want, m)
					delete(armed, e)
				}
			}
			slices.SortFunc(want, func(a, b model) int {
				if a.when != b.when {
					return int(int64(a.when - b.when))
				}
				return int(int64(a.seq - b.seq))
			})
			var got []uint64
			for e := w.Expire(now); e != nil; e = w.Expire(now) {
				got = append(got, e.When())
			}
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, want[i].when, got[i])
			}
		}
		require.Equal(t, len(armed), w.Len())
	}
}
