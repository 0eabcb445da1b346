// Package alarm has deadlines that move: an Alarm is a task's, a Bell is for goroutines.
//
// Most deadlines move later with every message. One that does is only stored: its timer
// stays as it is, and is set again when it fires too early.
package alarm

import (
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
)

// A Bell is a deadline of goroutines that wait for a T. It is a timer of Go's, which fires
// in a goroutine of its own: so the deadline comes although no worker is free.
//
// The lock of the T guards it. While there is a deadline that has not passed, the timer is
// going to fire by then, or its function is about to take that lock. The zero value has no
// deadline.
type Bell[T any] struct {
	timer  *time.Timer // nil: never needed yet
	inside bool        // Set was called in a bubble of testing/synctest
	armed  time.Time   // when it fires; zero: it does not
	at     time.Time   // zero: no deadline
	passed bool
}

// Set changes the deadline; zero: none. ring is called when it may have passed, in a
// goroutine of its own, and is to take the lock and call Ring. It must be the same with
// every call, and so must of. Set reports whether the deadline has passed already: then
// ring need not be called for it. Only the first call for a time to come allocates.
func (b *Bell[T]) Set(t time.Time, of *T, ring func(*T)) (passed bool) {
	if b.inside || bubble.Of(t) || b.timer == nil && !t.IsZero() && bubble.In() {
		return b.setOutside(t, of, ring)
	}
	return b.set(t, of, ring)
}

// setOutside makes a deadline of a bubble one of real time, as with package net: the bubble's time
// stands still while a goroutine waits for the network. The timer is made, and set, outside.
func (b *Bell[T]) setOutside(t time.Time, of *T, ring func(*T)) bool {
	b.inside = true
	t = bubble.Real(t)
	return bubble.Call(func() bool { return b.set(t, of, ring) })
}

func (b *Bell[T]) set(t time.Time, of *T, ring func(*T)) (passed bool) {
	b.at, b.passed = t, false
	if t.IsZero() {
		return false
	}
	left := time.Until(t)
	switch {
	case left <= 0:
		b.passed = true
	case b.timer == nil:
		b.armed = t
		b.timer = time.AfterFunc(left, func() { ring(of) })
	case b.armed.IsZero() || t.Before(b.armed):
		b.armed = t
		b.timer.Reset(left)
	}
	return b.passed
}

// Ring is for the function that the timer calls. It reports whether the deadline has just
// passed; else the timer is set again, if there is still a deadline.
func (b *Bell[T]) Ring() (passed bool) {
	b.armed = time.Time{}
	if b.at.IsZero() || b.passed {
		return false
	}
	if left := time.Until(b.at); left > 0 {
		b.armed = b.at
		b.timer.Reset(left)
		return false
	}
	b.passed = true
	return true
}

// Passed reports whether the deadline was seen to have passed, by Set or Ring.
func (b *Bell[T]) Passed() bool { return b.passed }

// Stop takes the deadline back and lets go of the timer.
func (b *Bell[T]) Stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
	*b = Bell[T]{timer: b.timer, inside: b.inside}
}
