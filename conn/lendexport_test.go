package conn

// News reports whether bytes and the end have arrived and the task has not looked yet.
func (h Handle) News() (data, end bool) {
	c := h.conn()
	if c == nil {
		return false, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inbox.mail != nil && len(c.inbox.chunks) > 0, c.inbox.recvEnded
}
