package readiness

import "github.com/suiro-go/suiro/internal/atomics"

// A Life counts the users of a descriptor. Its zero value is one of an open descriptor without
// users. Any goroutine may call its methods.
type Life struct {
	users atomics.Int64 // their number, and closed
}

// closed is set in the number of users by Close.
const closed = 1 << 62

// Hold counts a user. It returns false after Close.
func (l *Life) Hold() bool {
	for {
		n := l.users.Load()
		if n&closed != 0 {
			return false
		}
		if l.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release is the end of a user. If it returns true the caller closes the descriptor.
func (l *Life) Release() (last bool) { return l.users.Add(-1) == closed }

// Close lets nobody enter from now on, and counts its caller as a user. So the descriptor stays
// open until the caller's Release. After the first Close it returns false, and counts nobody.
func (l *Life) Close() (first bool) {
	for {
		n := l.users.Load()
		if n&closed != 0 {
			return false
		}
		if l.users.CompareAndSwap(n, (n|closed)+1) {
			return true
		}
	}
}

// Closed reports whether Close was called.
func (l *Life) Closed() bool { return l.users.Load()&closed != 0 }
