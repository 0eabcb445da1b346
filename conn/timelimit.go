package conn

import "time"

// A timeLimit is the deadline of a Socket's reads or writes. One that moves later, as
// most do with every message, is only stored: when the timer fires too early, it is set
// again for what is left. So whenever there is a limit that has not passed, the timer
// is going to fire by then, or its function is about to take the lock.
//
// The socket's lock guards it.
type timeLimit struct {
	timer   *time.Timer // nil: never needed yet
	armed   time.Time   // when it fires; zero: it does not
	at      time.Time   // zero: no limit
	expired bool
}

// set changes the limit; zero: none. fire is called when it may have passed, in a
// goroutine of its own, and is to call pass. It reports whether the limit has passed.
func (l *timeLimit) set(t time.Time, s *Socket, fire func(*Socket)) bool {
	l.at, l.expired = t, false
	if t.IsZero() {
		return false
	}
	left := time.Until(t)
	switch {
	case left <= 0:
		l.expired = true
	case l.timer == nil:
		l.armed = t
		l.timer = time.AfterFunc(left, func() { fire(s) })
	case l.armed.IsZero() || t.Before(l.armed):
		l.armed = t
		l.timer.Reset(left)
	}
	return l.expired
}

// pass is for the timer's function. It reports whether the limit has just passed.
func (l *timeLimit) pass() bool {
	l.armed = time.Time{}
	if l.at.IsZero() || l.expired {
		return false
	}
	if left := time.Until(l.at); left > 0 {
		l.armed = l.at
		l.timer.Reset(left)
		return false
	}
	l.expired = true
	return true
}

// stop lets go of the timer.
func (l *timeLimit) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
	*l = timeLimit{timer: l.timer}
}
