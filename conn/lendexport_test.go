package conn

// News reports whether bytes and the end have arrived and the task has not looked yet. With again
// nothing more arrives before that: the receive has to be armed again.
func (h Handle) News() (data, end, again bool) {
	c := h.conn()
	if c == nil {
		return false, false, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	in := &c.inbox
	return in.mail != nil && len(in.chunks) > 0, in.recvEnded && in.recvErrno == 0, in.recvEnded && in.recvErrno != 0
}
