//go:build explore

package semaphore

import (
	"testing"

	"github.com/suiro-go/suiro/internal/atomics"
	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A hall is handshakes that share a semaphore.
type hall struct {
	x         *explorer.Execution
	sem       FIFO
	limit     int
	computing int
	over      int // handshakes that have ended
}

// A shaker is a handshake. Its goroutine waits on a condition variable under mu, which signals
// counts the wake-ups of.
type shaker struct {
	*hall
	waiter  Waiter
	started bool
	mu      atomics.Mutex
	signals int
	stopped bool
}

func (h *hall) shaker() *shaker {
	s := &shaker{hall: h}
	s.waiter.Owner = s
	return s
}

func (s *shaker) Start() {
	explorer.Step(s.x, "starts", &s.started, func() {
		s.x.Require(!s.started, "started twice")
		s.started = true
	})
}

func (s *shaker) Signal() {
	s.mu.Lock()
	explorer.Step(s.x, "signals", &s.signals, func() { s.signals++ })
	s.mu.Unlock()
}

func (s *shaker) compute() {
	explorer.Step(s.x, "computes", &s.computing, func() {
		s.computing++
		s.x.Require(s.computing <= s.limit, "%d compute at a time", s.computing)
	})
	explorer.Step(s.x, "waits", &s.computing, func() { s.computing-- })
}

// await acquires the semaphore again. false: the handshake is stopped.
func (s *shaker) await() bool {
	if s.sem.Acquire(&s.waiter, s.limit) {
		return true
	}
	for {
		s.mu.Lock()
		if s.sem.Acquired(&s.waiter) {
			s.mu.Unlock()
			return true
		}
		if s.stopped && s.sem.Cancel(&s.waiter) {
			s.mu.Unlock()
			return false
		}
		before := s.signals
		s.mu.Unlock()
		explorer.Rest(s.x, "sleeps", &s.signals, func() bool { return s.signals != before }, nil)
	}
}

// shake is the goroutine of a handshake, and the task that has started it.
func (s *shaker) shake() {
	s.sem.Start(&s.waiter, s.limit)
	explorer.Rest(s.x, "is to start", &s.started, func() bool { return s.started }, nil)
	s.compute()
	s.sem.Release(&s.waiter) // the peer is silent
	if s.await() {
		s.compute()
	}
	s.sem.Release(&s.waiter)
	explorer.Step(s.x, "ends", &s.over, func() { s.over++ })
}

// stop ends the handshake, as the end of its connection does.
func (s *shaker) stop() {
	s.sem.CancelStart(&s.waiter)
	s.mu.Lock()
	s.stopped = true
	explorer.Step(s.x, "signals", &s.signals, func() { s.signals++ })
	s.mu.Unlock()
}

func explored(t *testing.T, preemptions, limit int, scenario func(h *hall) (over func(int) bool)) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		h := &hall{x: x, limit: limit}
		over := scenario(h)
		x.Finally(func() {
			x.Require(over(h.over), "%d handshakes have ended: a release was lost", h.over)
			x.Require(h.sem.held == 0, "%d acquisitions were never released", h.sem.held)
			x.Require(h.sem.queue.Len() == 0, "%d are queued", h.sem.queue.Len())
		})
	})
}

// All handshakes compute, and no more than the limit at a time.
func TestExploreHandshakesThatTakeTurns(t *testing.T) {
	for name, of := range map[string]struct{ preemptions, limit, n int }{
		"two, one at a time":   {4, 1, 2},
		"three, one at a time": {2, 1, 3},
		"three, two at a time": {2, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			explored(t, of.preemptions, of.limit, func(h *hall) func(int) bool {
				for i := range of.n {
					s := h.shaker()
					h.x.Go(string(rune('a'+i)), s.shake)
				}
				return func(over int) bool { return over == of.n }
			})
		})
	}
}

// A handshake whose connection ends releases the semaphore or leaves the queue. If it has not
// started by then, it never does.
func TestExploreACanceledHandshake(t *testing.T) {
	explored(t, 3, 1, func(h *hall) func(int) bool {
		a, b := h.shaker(), h.shaker()
		h.x.Go("a", a.shake)
		h.x.Go("b", b.shake)
		h.x.Go("end of a", a.stop)
		return func(over int) bool { return over == 2 || over == 1 && !a.started }
	})
}
