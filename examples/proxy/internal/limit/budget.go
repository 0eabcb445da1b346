package limit

import (
	"maps"
	"slices"
	"sync"
)

// perClient is how many descriptors a client's connection needs: its own, and one to an upstream.
const perClient = 2

// A Budget divides the descriptors of the process among clients' connections, with one to an
// upstream each, and UDP sessions. Either kind may use what the other one does not, but a quarter
// is kept for each. Its methods may be called from any goroutine. The zero value has no bounds.
type Budget struct {
	mu                sync.Mutex // guards the fields below
	all               int64      // 0: no bound
	forClients        int64      // kept for clients, in descriptors
	forSessions       int64      // kept for sessions
	clients, sessions int64      // descriptors in use
	leaving           int64      // descriptors of sessions that have ended, and are closed soon
	sheds             map[*Seats]func()
}

// Set changes the bounds: there are all descriptors for these kinds together. 0: no bound.
func (b *Budget) Set(all int64, clients, sessions bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all, b.forClients, b.forSessions = all, 0, 0
	if clients && sessions {
		b.forClients, b.forSessions = all/4, all/4
	}
}

// takeClient takes the descriptors of a client's connection. It reports whether there are any. When
// they become few, sessions without an answer are given up.
func (b *Budget) takeClient() bool {
	b.mu.Lock()
	ok := b.all == 0 || b.clients+b.sessions+perClient+max(b.forSessions-b.sessions, 0) <= b.all
	if ok {
		b.clients += perClient
	}
	var sheds []func()
	if b.tight() {
		sheds = slices.Collect(maps.Values(b.sheds))
	}
	b.mu.Unlock()
	for _, shed := range sheds {
		shed()
	}
	return ok
}

func (b *Budget) leaveClient() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients -= perClient
}

// tight reports whether few descriptors are left for sessions. Sessions that are leaving count as
// closed, so that each makes room once.
func (b *Budget) tight() bool {
	left := b.all - b.clients - b.sessions - max(b.forClients-b.clients, 0)
	return b.all > 0 && left+b.leaving < min(b.all/16, 256)
}

// Seats are the sessions of one listener.
type Seats struct{ budget *Budget }

// Seats are for a listener. The Budget calls shed when a client needs descriptors and few are left,
// until Close. shed must not block.
func (b *Budget) Seats(shed func()) *Seats {
	s := &Seats{b}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sheds == nil {
		b.sheds = map[*Seats]func(){}
	}
	b.sheds[s] = shed
	return s
}

// Tight reports whether the oldest session without an answer is to be given up, as few descriptors
// are left.
func (s *Seats) Tight() bool {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.budget.tight()
}

// Take takes the descriptor of a session; nil: none is left.
func (s *Seats) Take() *Seat {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all > 0 && b.clients+b.sessions+1+max(b.forClients-b.clients, 0) > b.all {
		return nil
	}
	b.sessions++
	return &Seat{budget: b}
}

// Close ends the calls of shed.
func (s *Seats) Close() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	delete(s.budget.sheds, s)
}

// A Seat is the descriptor of a session.
type Seat struct {
	budget          *Budget
	leaving, closed bool
}

// Leave notes that the descriptor is closed soon.
func (s *Seat) Leave() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if !s.leaving && !s.closed {
		s.leaving = true
		s.budget.leaving++
	}
}

// Close notes that the descriptor is closed.
func (s *Seat) Close() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.closed {
		return
	}
	if s.leaving {
		s.budget.leaving--
	}
	s.closed = true
	s.budget.sessions--
}
