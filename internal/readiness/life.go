package readiness

import (
	"errors"
	"net"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A Direction is that of a call: In takes something from the kernel, Out gives it something.
type Direction uint8

// The directions.
const (
	In Direction = iota
	Out
)

// ErrInUse is the error of a call in a direction in which another one is under way.
var ErrInUse = errors.New("another call in the same direction is under way")

// A Life counts the users of a descriptor. Its zero value is one of an open descriptor without
// users. Any goroutine may call its methods.
type Life struct {
	word atomics.Uint64
}

// The word: whether Close was called, whether a call is under way in each direction, and above
// these the number of other users.
const (
	closed   uint64 = 1
	underWay uint64 = 2 // of In; that of Out is above
	user     uint64 = 8
)

// Enter begins a call. The error is net.ErrClosed or ErrInUse.
func (l *Life) Enter(d Direction) error {
	for {
		w := l.word.Load()
		switch {
		case w&closed != 0:
			return net.ErrClosed
		case w&(underWay<<d) != 0:
			return ErrInUse
		}
		if l.word.CompareAndSwap(w, w|underWay<<d) {
			return nil
		}
	}
}

// Leave ends a call. If it returns true the caller closes the descriptor.
func (l *Life) Leave(d Direction) (last bool) { return l.word.Add(-(underWay << d)) == closed }

// Hold counts a user that is no call. The error is net.ErrClosed.
func (l *Life) Hold() error {
	for {
		w := l.word.Load()
		if w&closed != 0 {
			return net.ErrClosed
		}
		if l.word.CompareAndSwap(w, w+user) {
			return nil
		}
	}
}

// Release is the end of a user that Hold has counted. If it returns true the caller closes the
// descriptor.
func (l *Life) Release() (last bool) { return l.word.Add(^(user - 1)) == closed }

// Close lets nobody enter from now on. first is false if Close was called before. If last is true
// the caller closes the descriptor. Otherwise the caller signals both halves, and ends the
// registration if there is one.
func (l *Life) Close() (first, last bool) {
	old := l.word.Or(closed)
	return old&closed == 0, old == 0
}

// Closed reports whether Close was called.
func (l *Life) Closed() bool { return l.word.Load()&closed != 0 }
