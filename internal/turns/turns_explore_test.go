//go:build explore

package turns

import (
	"testing"

	"github.com/suiro-go/suiro/internal/atomics"
	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A hall is handshakes that compute by turns.
type hall struct {
	x         *explorer.Execution
	turns     Turns
	limit     int
	computing int
	over      int // handshakes that have ended
}

// A shaker is a handshake. Its goroutine waits on a condition variable under mu, which signals
// counts the wake-ups of.
type shaker struct {
	*hall
	turn    Turn
	begun   bool
	mu      atomics.Mutex
	signals int
	stopped bool
}

func (h *hall) shaker() *shaker {
	s := &shaker{hall: h}
	s.turn.Owner = s
	return s
}

func (s *shaker) Begin() {
	explorer.Step(s.x, "begins", &s.begun, func() {
		s.x.Require(!s.begun, "begun twice")
		s.begun = true
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

// await asks for a turn again. false: the handshake is stopped.
func (s *shaker) await() bool {
	if s.turns.Ask(&s.turn, s.limit) {
		return true
	}
	for {
		s.mu.Lock()
		if s.turns.Given(&s.turn) {
			s.mu.Unlock()
			return true
		}
		if s.stopped && s.turns.Withdraw(&s.turn) {
			s.mu.Unlock()
			return false
		}
		before := s.signals
		s.mu.Unlock()
		explorer.Rest(s.x, "sleeps", &s.signals, func() bool { return s.signals != before }, nil)
	}
}

// shake is the goroutine of a handshake, and the task that has begun it.
func (s *shaker) shake() {
	s.turns.Begin(&s.turn, s.limit)
	explorer.Rest(s.x, "is to begin", &s.begun, func() bool { return s.begun }, nil)
	s.compute()
	s.turns.Leave(&s.turn) // the peer is silent
	if s.await() {
		s.compute()
	}
	s.turns.Leave(&s.turn)
	explorer.Step(s.x, "ends", &s.over, func() { s.over++ })
}

// stop ends the handshake, as the end of its connection does.
func (s *shaker) stop() {
	s.turns.GiveUp(&s.turn)
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
			x.Require(over(h.over), "%d handshakes have ended: a turn was lost", h.over)
			x.Require(h.turns.running == 0, "%d turns were never left", h.turns.running)
			x.Require(h.turns.queue.Len() == 0, "%d wait for a turn", h.turns.queue.Len())
		})
	})
}

// All handshakes compute, and no more than the limit at a time.
func TestExploreHandshakesByTurns(t *testing.T) {
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

// One whose connection ends leaves its turn, or its place, to the others. It may not have
// begun: then it never does.
func TestExploreAHandshakeThatIsStopped(t *testing.T) {
	explored(t, 3, 1, func(h *hall) func(int) bool {
		a, b := h.shaker(), h.shaker()
		h.x.Go("a", a.shake)
		h.x.Go("b", b.shake)
		h.x.Go("end of a", a.stop)
		return func(over int) bool { return over == 2 || over == 1 && !a.begun }
	})
}
