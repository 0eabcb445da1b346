package gateway

import (
	"sync"

	"github.com/suiro-go/suiro/conn"
)

// Mark is the Check of the pools: it notes that a connection has waited in one. The next user
// learns by lease.reused that it is not new.
func Mark(c *conn.Conn) error {
	if h := c.Handle(); waited.add(h) {
		c.NotifyClose(func() { waited.remove(h) })
	}
	return nil
}

// waited are the open connections that have waited in a pool. A connection's value would not do,
// since the pool clears it with each user.
var waited handles

// A handles is a set of connections. The zero value is ready. Its methods may be called from any
// goroutine.
type handles struct {
	mu  sync.Mutex
	all map[conn.Handle]struct{}
}

// add reports whether it was not there.
func (s *handles) add(h conn.Handle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[conn.Handle]struct{}{}
	}
	n := len(s.all)
	s.all[h] = struct{}{}
	return len(s.all) > n
}

func (s *handles) remove(h conn.Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

func (s *handles) has(h conn.Handle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[h]
	return ok
}
