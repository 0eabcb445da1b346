package handover

import "github.com/suiro-go/suiro/internal/atomics"

// A Signal lets goroutines ask a task for a turn. A goroutine stores its request where the
// task can read it, calls Ring, and wakes the task if Ring says so. The task's turn is Look,
// then Rouse, then the reading of the requests, then Rest, and again from Look while Rest says
// so. Every request that was stored before a Ring is read by a turn that begins or goes on
// after it.
//
// No request is missed, because Ring counts before it reads awake, and Rest lowers awake
// before it reads the count: at least one of the two sees the other.
//
// The zero value is ready. Until the first Ring, awake stays false and a turn stores nothing
// that others read: a Stream that nobody rings pays two loads for each turn.
type Signal struct {
	// The task's alone.
	seen uint32 // changed, as of the last Look
	rung bool   // a Look has seen a Ring, at any time

	changed atomics.Uint32 // counts the calls of Ring
	awake   atomics.Bool   // a turn is under way: its Rest reads changed
}

// Ring counts a request that the caller has stored. It reports whether the caller has to wake
// the task. Any goroutine may call it.
func (s *Signal) Ring() (wake bool) {
	s.changed.Add(1)
	return !s.awake.Load()
}

// Look reports whether there was a Ring since the last Look. Only the task may call it, before
// it reads the requests.
func (s *Signal) Look() (isNew bool) {
	if changed := s.changed.Load(); changed != s.seen {
		s.seen, s.rung, isNew = changed, true, true
	}
	return isNew
}

// Rouse spares the goroutines that call Ring a wake-up until Rest, if any has ever called it.
// Only the task may call it, any number of times before a Rest.
func (s *Signal) Rouse() {
	if s.rung {
		s.raise()
	}
}

// raise stores only what changes: others read the word.
func (s *Signal) raise() {
	if !s.awake.Load() {
		s.awake.Store(true)
	}
}

// Rest ends a turn. It reports whether there was a Ring since the last Look: then the task has
// to take another turn. Only the task may call it.
func (s *Signal) Rest() (again bool) {
	if s.rung {
		s.awake.Store(false)
	}
	return s.seen != s.changed.Load()
}
