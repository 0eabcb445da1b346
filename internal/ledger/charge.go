package ledger

// A Charge is what one connection has in a ledger. The connection's lock guards it. The zero
// value is nothing. After a call that makes it smaller, the caller calls PassOn without that
// lock.
type Charge struct {
	unsent, unread, kept int
	shed                 bool // the connection is reset: its memory is as good as free
}

// Book sets the connection's own bytes: unsent and unread ones.
func (l *Ledger) Book(c *Charge, unsent, unread int) {
	if c.shed {
		return
	}
	more := int64(unsent - c.unsent)
	own := more + int64(unread-c.unread)
	c.unsent, c.unread = unsent, unread
	if more > 0 {
		l.unsent.Add(more)
	}
	if own != 0 {
		l.own.Add(own)
	}
	if more < 0 { // after own: see PassOn
		l.unsent.Add(more)
	}
}

// Sent takes n bytes from the unsent ones. Some of them may not be booked yet: a handler flushes,
// and they are sent before its run ends. They must not be taken from the bytes of others.
func (l *Ledger) Sent(c *Charge, n int) { l.Book(c, max(0, c.unsent-n), c.unread) }

// Keep sets what goroutines hold of the connection's bytes. It reports whether that is less
// than before.
func (l *Ledger) Keep(c *Charge, kept int) (less bool) {
	if kept == c.kept {
		return false
	}
	less = kept < c.kept
	if !c.shed {
		l.kept.Add(int64(kept - c.kept))
		c.kept = kept
	}
	return less
}

// Shed books nothing for the connection from now on.
func (l *Ledger) Shed(c *Charge) {
	l.Book(c, 0, 0)
	l.Keep(c, 0)
	c.shed = true
}

// Own is the number of the connection's own bytes.
func (c *Charge) Own() int { return c.unsent + c.unread }
