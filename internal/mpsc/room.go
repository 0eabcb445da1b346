package mpsc

// A Room is where senders wait until a full mailbox has room. One lock of the caller's guards the
// Room and all of its Seats. A sender sits down, and then tries once more. The consumer first frees
// room, and then calls as many senders as it has freed places.
//
// No sender waits for nothing. While one sits and the mailbox has room, one party has yet to look:
// the consumer; a sender that has just sat down; or a sender that was called, which tries again or
// leaves. A sender that was called and leaves calls the next one if there is still room. It may
// have given up, or have found a place before it was called.
//
// Senders that do not wait may overtake those that do. A sender that was called and finds no place
// sits down before all others.
type Room struct{ first, last *Seat }

// A Seat is a sender's place in a Room. The zero value is not in one.
type Seat struct {
	Owner any

	before, after *Seat
	sits          bool // it is in the room
	called        bool // it was in the room
}

// Waiting reports whether a sender sits. The consumer asks after a Free, without the lock.
func (m *Mailbox[T]) Waiting() bool { return m.waiting.Load() }

// Sit adds a sender, unless it sits. The sender then tries once more, without the lock.
func (m *Mailbox[T]) Sit(r *Room, s *Seat) {
	switch {
	case s.sits:
		return
	case r.first == nil:
		r.first, r.last = s, s
	case s.called:
		s.after, r.first.before, r.first = r.first, s, s
	default:
		s.before, r.last.after, r.last = r.last, s, s
	}
	s.sits, s.called = true, false
	m.waiting.Store(true)
}

// Call calls the first sender, for the caller to wake; nil: none sits.
func (m *Mailbox[T]) Call(r *Room) *Seat {
	s := r.first
	if s != nil {
		m.remove(r, s)
		s.called = true
	}
	return s
}

// Leave says that a sender no longer waits: it has sent its message, or has given up. next is a
// sender that the caller must wake; nil: none.
func (m *Mailbox[T]) Leave(r *Room, s *Seat) (next *Seat) {
	switch {
	case s.sits:
		m.remove(r, s)
	case s.called:
		s.called = false
		if m.limit == 0 || m.count.Load() < m.limit {
			return m.Call(r)
		}
	}
	return nil
}

func (m *Mailbox[T]) remove(r *Room, s *Seat) {
	if s.before == nil {
		r.first = s.after
	} else {
		s.before.after = s.after
	}
	if s.after == nil {
		r.last = s.before
	} else {
		s.after.before = s.before
	}
	s.before, s.after, s.sits = nil, nil, false
	m.waiting.Store(r.first != nil)
}
