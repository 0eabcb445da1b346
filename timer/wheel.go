package timer

import "math/bits"

const (
	slotBits = 6
	slots    = 1 << slotBits // per level
	levels   = 5
	span     = 1 << (slotBits * levels) // ticks the levels reach
)

// An Entry is one timer, embedded in whatever it wakes, so that starting it
// allocates nothing. The zero value is not in any wheel. An entry must not be
// copied while it is in one.
type Entry struct {
	when       uint64 // tick of expiry
	next, prev *Entry // nil: not in a wheel
	at         int16  // level*slots + slot, or overflow, or due
	// Value is the owner's: the wheel does not touch it.
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

// A list is a ring of entries through a sentinel.
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

// earliest is the first tick at which an entry of the list, which is not empty,
// expires.
func (l *list) earliest() uint64 {
	tick := l.root.next.when
	for e := l.root.next.next; e != &l.root; e = e.next {
		tick = min(tick, e.when)
	}
	return tick
}

func unlink(e *Entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.next, e.prev = nil, nil
}

// A Wheel holds entries by the tick at which they expire. Make one with New.
// Not safe for use by several goroutines at once.
type Wheel struct {
	now      uint64         // every entry with when <= now is in due
	occupied [levels]uint64 // a bit per slot that is not empty
	slots    [levels * slots]list
	overflow list // further off than the levels reach
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

// Now is the time the wheel was last advanced to.
func (w *Wheel) Now() uint64 { return w.now }

// Len is the number of entries in the wheel, expired ones that Expire has not
// handed out included.
func (w *Wheel) Len() int { return w.len }

// Insert adds an entry that expires at tick when; one that is in the wheel
// already is moved. A tick that is not in the future expires at the next
// Expire. Entries with equal ticks expire in the order of their insertion.
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

// place puts an entry where its tick belongs as seen from now.
func (w *Wheel) place(e *Entry) {
	if e.when <= w.now {
		e.at = atDue
		w.due.pushBack(e)
		return
	}
	// The level is that of the highest bit in which the tick differs from now:
	// below it, all of the tick's bits are still to come.
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

// Next is a tick at or before the next expiry, and false if the wheel is empty:
// the tick at which Expire has something to do. Calling Expire then either
// expires entries or makes Next later.
func (w *Wheel) Next() (uint64, bool) {
	if !w.due.empty() {
		return w.now, true
	}
	for level := range levels {
		// Every occupied slot of a level lies ahead of the level's current one
		// within the same turn: a slot at or behind it would differ from now
		// in a higher bit, and so belong to a higher level.
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

// Earliest is the tick of the next expiry itself, and false if the wheel is empty.
// It looks at each entry of the first slot that has any: Next is enough for
// whoever sleeps, this is for a clock that is to stop nowhere in between. If time
// then goes to that tick, no entry is looked at more than once per level.
func (w *Wheel) Earliest() (uint64, bool) {
	if !w.due.empty() {
		return w.now, true
	}
	for level, occupied := range w.occupied {
		if occupied != 0 { // all of it expires before anything of a higher level
			return w.slots[level*slots+bits.TrailingZeros64(occupied)].earliest(), true
		}
	}
	if w.overflow.empty() {
		return 0, false
	}
	return w.overflow.earliest(), true
}

// Expire advances the wheel's time to now, if that is later, and takes out the
// first entry that has expired: nil when there is none (left). Call it until
// it returns nil; entries may be inserted and removed in between.
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

// turnTo makes tick the current time and moves down what lies in the slots that
// begin there: from the highest level that turns, so that entries of equal tick
// keep their order (one inserted earlier was further off, and lies higher).
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

// cascade places the entries of a list anew. One that is still too far off goes
// back to the end of overflow, so the last one is known by its address.
func (w *Wheel) cascade(from *list) {
	for last := from.root.prev; !from.empty(); {
		e := from.popFront()
		w.place(e)
		if e == last {
			return
		}
	}
}
