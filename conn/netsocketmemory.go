package conn

// account brings the group's ledger up to date with what the socket keeps. The socket's lock
// is held, so that the last call tells the latest. It reports whether the caller is to call
// the group's passOn afterwards, without that lock.
func (s *Socket) account() (passOn bool) {
	c := s.c
	if c == nil || !c.group.bounded() {
		return false
	}
	c.mu.Lock()
	before := c.extras.charge.kept
	now := s.in.Bytes + s.behind
	c.bookKept(now)
	c.mu.Unlock()
	return now < before
}

// accountFor is account for the connection's task, at the end of a run that leaves so many
// bytes in the connection.
func (s *Socket) accountFor(behind int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = behind
	s.account()
}

// hungry reports whether a goroutine waits for what arrives.
func (s *Socket) hungry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Bytes == 0 && s.readers.Len() > 0
}

// askAgain wakes the connection's task for a goroutine that begins to wait: with MaxMemory
// the connection may have been waiting for memory that is not needed now.
func (s *Socket) askAgain() {
	if s.c != nil && s.c.group.bounded() {
		s.c.task.Wake()
	}
}

// handshakeCost is about what crypto/tls and its goroutine hold during a handshake, in bytes.
const handshakeCost = 16 << 10

// holds is how much a handshake in progress holds, in bytes, for the ledger.
func (l *layer) holds(c *Conn) int {
	if l.ready || !l.begun || c.is(broken) {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return handshakeCost + len(l.in)
}
