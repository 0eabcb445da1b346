package membudget

// A Usage is the bytes that one connection has buffered, as counted in a Budget. The connection's
// lock guards it. The zero value is 0 bytes. After a call that makes it smaller, the caller calls
// WakeNext without that lock.
type Usage struct {
	unsent, unread, forGoroutines int
	shed                          bool // the connection is being reset, so its bytes do not count
}

// Set sets the connection's own bytes: unsent and unread ones.
func (b *Budget) Set(u *Usage, unsent, unread int) {
	if u.shed {
		return
	}
	more := int64(unsent - u.unsent)
	own := more + int64(unread-u.unread)
	u.unsent, u.unread = unsent, unread
	if more > 0 {
		b.unsent.Add(more)
	}
	if own != 0 {
		b.own.Add(own)
	}
	if more < 0 { // after own: see WakeNext
		b.unsent.Add(more)
	}
}

// Sent subtracts n sent bytes. Some of them may not be counted yet: a handler may flush, and they
// are sent before its run ends. Such bytes must not be subtracted from those of other connections.
func (b *Budget) Sent(u *Usage, n int) { b.Set(u, max(0, u.unsent-n), u.unread) }

// SetForGoroutines sets how many received bytes goroutines have still to read. It reports whether
// that is less than before.
func (b *Budget) SetForGoroutines(u *Usage, n int) (less bool) {
	if n == u.forGoroutines {
		return false
	}
	less = n < u.forGoroutines
	if !u.shed {
		b.forGoroutines.Add(int64(n - u.forGoroutines))
		u.forGoroutines = n
	}
	return less
}

// Shed subtracts all bytes of the connection, which is being reset. Later calls change nothing.
func (b *Budget) Shed(u *Usage) {
	b.Set(u, 0, 0)
	b.SetForGoroutines(u, 0)
	u.shed = true
}

// Own is the number of the connection's own bytes.
func (u *Usage) Own() int { return u.unsent + u.unread }
