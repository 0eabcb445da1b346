package timer

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// An armed is an entry of the model, which is a list sorted by tick, and then by the order of
// insertion.
type armed struct {
	when, seq uint64
	entry     *Entry
}

func (a armed) compare(b armed) int {
	return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.seq, b.seq))
}

type model struct {
	sorted []armed
	of     map[*Entry]armed
	seq    uint64
}

func (m *model) insert(e *Entry, when uint64) {
	m.remove(e)
	m.seq++
	a := armed{when, m.seq, e}
	m.of[e] = a
	i, _ := slices.BinarySearchFunc(m.sorted, a, armed.compare)
	m.sorted = slices.Insert(m.sorted, i, a)
}

func (m *model) remove(e *Entry) bool {
	a, was := m.of[e]
	if was {
		delete(m.of, e)
		i, _ := slices.BinarySearchFunc(m.sorted, a, armed.compare)
		m.sorted = slices.Delete(m.sorted, i, i+1)
	}
	return was
}

// first is the entry that expires next, if it is due.
func (m *model) first(now uint64) *Entry {
	if len(m.sorted) == 0 || m.sorted[0].when > now {
		return nil
	}
	e := m.sorted[0].entry
	m.remove(e)
	return e
}

// A million operations, and each entry that expires is the very one that
// the list has first.
func TestTheWheelExpiresInTheOrderOfASortedListUnderAMillionRandomOperations(t *testing.T) {
	const operations = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	w, m := New(1000), model{of: make(map[*Entry]armed)}
	now := uint64(1000)
	entries := make([]Entry, 300)
	var inserted, removed, expired, overflowed int
	for range operations {
		e := &entries[rng.IntN(len(entries))]
		switch rng.IntN(8) {
		case 0, 1, 2, 3:
			when := now + rng.Uint64N(1<<rng.UintN(34))
			m.insert(e, when)
			w.Insert(e, when)
			inserted++
			if when-now >= span {
				overflowed++
			}
		case 4, 5:
			was := m.remove(e)
			if was != w.Remove(e) {
				t.Fatalf("an entry that was in the wheel: %v", was)
			}
			if was {
				removed++
			}
		default:
			if next, ok := w.Next(); ok && rng.IntN(2) == 0 {
				now = max(now, next)
			} else {
				now += rng.Uint64N(1 << rng.UintN(29))
			}
			if tick, ok := w.Earliest(); ok != (len(m.sorted) > 0) || ok && w.due.empty() && tick != m.sorted[0].when {
				t.Fatalf("Earliest: %d %v", tick, ok)
			}
			for done := false; !done; {
				if first := w.First(); (first == nil) != (len(m.sorted) == 0) || first != nil && first != m.sorted[0].entry {
					t.Fatalf("First: %+v", first)
				}
				want, got := m.first(now), w.Expire(now)
				if want != got {
					t.Fatalf("at %d: want %+v, got %+v", now, want, got)
				}
				if done = got == nil; !done {
					expired++
				}
			}
		}
		if w.Len() != len(m.sorted) {
			t.Fatalf("%d entries, want %d", w.Len(), len(m.sorted))
		}
	}
	for _, n := range []int{inserted, removed, expired, overflowed} {
		require.Greater(t, n, operations/500, "every kind of operation happens often")
	}
}
