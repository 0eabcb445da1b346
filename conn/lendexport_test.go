package conn

import "github.com/suiro-go/suiro/internal/mailbox"

// Arrived reports whether bytes and the end have arrived and the task has not looked yet. With
// again nothing more arrives before that: the receive has to be armed again.
func (h Handle) Arrived() (data, end, again bool) {
	c := h.core.Conn()
	if c == nil {
		return false, false, false
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	in := &c.Inbox
	ended := in.Signs().Is(mailbox.RecvEnded)
	return in.Chunks() > 0, ended && in.RecvErrno() == 0, ended && in.RecvErrno() != 0
}
