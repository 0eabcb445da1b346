package timer

import "math/bits"

const (
	slotBits = 6
	slots    = 1 << slotBits // per level
	levels   = 5
	span     = 1 << (slotBits * levels) // ticks that the levels cover
)

// An Entry is one timer. Embed it in the object that it wakes, so that starting it allocates
// nothing. The zero value is in no wheel. An entry must not be copied while it is in a wheel.
type Entry struct {
	when       uint64 // tick of expiry
	next, prev *Entry // nil: not in a wheel
	at         int16  // level*slots + slot, or overflow, or due
	// Value belongs to the owner: the wheel does not use it.
	Value any
}

const (
	atOverflow = levels * slots
	atDue      = atOverflow + 1
)

// Pending reports whether the entry is in a wheel.
func (e *Entry) Pending() bool { return e.next != nil }

// When is the tick at which the entry expires, or last did.
func (e *Entry) When() uint64 { return e.when }

// A list is a ring of entries with a sentinel.
type list struct{ root Entry }

func (l *list) init() { l.root.next, l.root.prev = &l.root, &l.root }

func (l *list) empty() bool { return l.root.next == &l.root }

func (l *list) pushBack(e *Entry) {
	e.prev, e.next = l.root.prev, &l.root
	e.prev.next, e.next.prev = e, e
}

func (l *list) popFront() *Entry {
	e := l.root.next
	unlink(e)
	return e
}

// first is the entry that expires first. The list is not empty. Entries with equal ticks are in
// the order of their insertion.
func (l *list) first() *Entry {
	first := l.root.next
	for e := first.next; e != &l.root; e = e.next {
		if e.when < first.when {
			first = e
		}
	}
	return first
}

func unlink(e *Entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.next, e.prev = nil, nil
}

// A Wheel holds entries by the tick at which they expire. Make one with New. It is not safe for
// concurrent use.
type Wheel struct {
	now      uint64         // every entry with when <= now is in due
	occupied [levels]uint64 // a bit per slot, set if the slot is not empty
	slots    [levels * slots]list
	overflow list // beyond the range of the levels
	due      list // expired, in order of expiry, not yet handed out by Expire
	len      int
}

// New returns an empty wheel whose time is now.
func New(now uint64) *Wheel {
	w := &Wheel{now: now}
	for i := range w.slots {
		w.slots[i].init()
	}
	w.overflow.init()
	w.due.init()
	return w
}

// Now is the time to which the wheel was last advanced.
func (w *Wheel) Now() uint64 { return w.now }

// Len is the number of entries in the wheel, including expired ones that Expire has not returned
// yet.
func (w *Wheel) Len() int { return w.len }

// Insert adds an entry that expires at tick when. If it is already in the wheel, it is moved. If
// the tick is not in the future, the entry expires at the next Expire. Entries with equal ticks
// expire in the order of their insertion.
func (w *Wheel) Insert(e *Entry, when uint64) {
	w.Remove(e)
	e.when = when
	w.len++
	w.place(e)
}

// Remove takes an entry out and reports whether it was in the wheel.
func (w *Wheel) Remove(e *Entry) bool {
	if !e.Pending() {
		return false
	}
	w.len--
	unlink(e)
	if at := int(e.at); at < atOverflow && w.slots[at].empty() {
		w.occupied[at/slots] &^= 1 << (at % slots)
	}
	return true
}

// place puts an entry into the slot of its tick, relative to now.
func (w *Wheel) place(e *Entry) {
	if e.when <= w.now {
		e.at = atDue
		w.due.pushBack(e)
		return
	}
	// The level is that of the highest bit in which the tick differs from now. All lower bits of
	// the tick are still to come.
	level := (bits.Len64(e.when^w.now) - 1) / slotBits
	if level >= levels {
		e.at = atOverflow
		w.overflow.pushBack(e)
		return
	}
	slot := int(e.when >> (level * slotBits) % slots)
	e.at = int16(level*slots + slot)
	w.slots[e.at].pushBack(e)
	w.occupied[level] |= 1 << slot
}

// Next is a tick at or before the next expiry; false: the wheel is empty. At that tick Expire has
// work to do: it either expires entries or makes Next later.
func (w *Wheel) Next() (uint64, bool) {
	if !w.due.empty() {
		return w.now, true
	}
	for level := range levels {
		// Every occupied slot of a level is ahead of the level's current slot within the same
		// turn. A slot at or behind the current one would differ from now in a higher bit, and so
		// belong to a higher level.
		if w.occupied[level] != 0 {
			shift := level * slotBits
			slot := uint64(bits.TrailingZeros64(w.occupied[level]))
			turn := w.now >> (shift + slotBits) << (shift + slotBits)
			return turn | slot<<shift, true
		}
	}
	if !w.overflow.empty() {
		return (w.now | (span - 1)) + 1, true
	}
	return 0, false
}

// Earliest is the exact tick of the next expiry; false: the wheel is empty. It looks at each entry
// of the first occupied slot. To sleep, Next is enough. Earliest is for a clock that must not stop
// in between. If time then advances to that tick, each entry is looked at once per level at most.
func (w *Wheel) Earliest() (uint64, bool) {
	first := w.First()
	if first == nil {
		return 0, false
	}
	return max(first.when, w.now), true
}

// First is the entry that expires next, which stays in the wheel; nil: the wheel is empty. Like
// Earliest it looks at each entry of one slot.
func (w *Wheel) First() *Entry {
	if !w.due.empty() {
		return w.due.root.next
	}
	for level, occupied := range w.occupied {
		if occupied != 0 {
			return w.slots[level*slots+bits.TrailingZeros64(occupied)].first()
		}
	}
	if w.overflow.empty() {
		return nil
	}
	return w.overflow.first()
}

// Expire advances the wheel's time to now, if that is later, and takes out the first expired
// entry. nil: none is left. Call it until it returns nil; entries may be inserted and removed in
// between.
func (w *Wheel) Expire(now uint64) *Entry {
	for w.due.empty() {
		next, ok := w.Next()
		if !ok || next > now {
			w.now = max(w.now, now)
			return nil
		}
		w.turnTo(next)
	}
	w.len--
	return w.due.popFront()
}

// turnTo sets the current time to tick, and moves down the entries of the slots that begin there.
// It starts at the highest level. So entries with equal ticks keep their order: one that was
// inserted earlier was further away, and is on a higher level.
func (w *Wheel) turnTo(tick uint64) {
	w.now = tick
	if tick%span == 0 {
		w.cascade(&w.overflow)
	}
	for level := levels - 1; level >= 0; level-- {
		shift := level * slotBits
		if tick&(1<<shift-1) != 0 {
			continue
		}
		slot := int(tick >> shift % slots)
		if bit := uint64(1) << slot; w.occupied[level]&bit != 0 {
			w.occupied[level] &^= bit
			w.cascade(&w.slots[level*slots+slot])
		}
	}
}

// cascade places the entries of a list again. An entry that is still too far away goes to the end
// of overflow again, so the loop ends at the entry that was last at the beginning.
func (w *Wheel) cascade(from *list) {
	for last := from.root.prev; !from.empty(); {
		e := from.popFront()
		w.place(e)
		if e == last {
			return
		}
	}
}
