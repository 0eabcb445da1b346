package conn

// NotifyEnd has f called once, when nothing more will arrive: the peer has finished, or
// the connection has ended, although what arrived before may be unread. So a goroutine
// that waits for something else learns that its peer is gone, without a read. If nothing
// will arrive already, f is called before NotifyEnd returns; else on a worker, so f must
// not block. A later call replaces f, and nil, Close and Return take it back: a call
// that has begun by then goes on. While the peer is held back, because much is unread,
// its end is not seen.
func (s *Socket) NotifyEnd(f func()) {
	s.mu.Lock()
	s.ended = f
	notify := func() {}
	if s.closed {
		s.ended = nil
	} else if s.eof || s.gone {
		notify = s.takeEnded()
	}
	s.mu.Unlock()
	notify()
}

// takeEnded is what to call, without the lock, once nothing more arrives. The lock is held.
func (s *Socket) takeEnded() func() {
	f := s.ended
	s.ended = nil
	if f == nil {
		return func() {}
	}
	return f
}
