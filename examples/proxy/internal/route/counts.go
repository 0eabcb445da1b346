package route

import (
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/conn"
)

// Counts are the events on a route since the start, reloads included. Fields may
// be changed from any goroutine.
type Counts struct {
	Active   atomic.Int64  // connections or sessions
	Accepted atomic.Uint64 // of them, those there were
	Refused  atomic.Uint64 // those that were one too many
	Failed   atomic.Uint64 // those for which there was no upstream
	Broken   atomic.Uint64 // those that ended with an error
	Retried  atomic.Uint64 // further upstreams that were tried
	Requests atomic.Uint64 // of http
	Dropped  atomic.Uint64 // datagrams
	Evicted  atomic.Uint64 // sessions without an answer that made room

	In, Out atomic.Uint64 // bytes from clients, and to them, but for those of splices

	mu      sync.Mutex
	live    map[*conn.Spliced]struct{}
	in, out uint64 // of splices that are over
}

// Watch counts the bytes of a splice whose first connection is the upstream's, from now on.
func (c *Counts) Watch(s *conn.Spliced) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		c.live = map[*conn.Spliced]struct{}{}
	}
	c.live[s] = struct{}{}
}

// Over is its end.
func (c *Counts) Over(s *conn.Spliced) (in, out uint64) {
	out, in = s.Bytes()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, s)
	c.in, c.out = c.in+in, c.out+out
	return in, out
}

// Bytes are all from clients, and all to them.
func (c *Counts) Bytes() (in, out uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in, out = c.In.Load()+c.in, c.Out.Load()+c.out
	for s := range c.live {
		toB, toA := s.Bytes()
		in, out = in+toA, out+toB
	}
	return in, out
}

// Admit counts a connection, unless there are as many as there may be.
func (r *Route) Admit() bool {
	if n := r.Active.Add(1); r.MaxConnections > 0 && n > int64(r.MaxConnections) {
		r.Active.Add(-1)
		r.Refused.Add(1)
		return false
	}
	r.Accepted.Add(1)
	return true
}

// Leave is the end of one that was admitted.
func (r *Route) Leave() { r.Active.Add(-1) }
