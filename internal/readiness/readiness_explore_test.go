//go:build explore

package readiness

import (
	"net"
	"os"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

func unbounded(t *testing.T, scenario func(x *explorer.Execution, m *model)) {
	bounded(t, explorer.Unbounded, scenario)
}

func bounded(t *testing.T, most int, scenario func(x *explorer.Execution, m *model)) {
	explorer.Explore(t, explorer.Options{Preemptions: most}, func(x *explorer.Execution) { scenario(x, newModel(x)) })
}

// allTaken: nothing is lost, since a lost edge leaves a call asleep, which the explorer reports.
func (m *model) allTaken(n int) {
	m.x.Finally(func() { m.x.Require(m.taken == n, "%d of %d bytes were taken", m.taken, n) })
}

// allFailed: so many calls have failed with err, and the descriptor is closed or not.
func (m *model) allFailed(n int, with error, open int) {
	m.x.Finally(func() {
		m.x.Require(len(m.ended) == n, "%d of %d calls have failed: an end was lost", len(m.ended), n)
		for _, err := range m.ended {
			m.x.Require(err == with, "a call has failed with %v", err)
		}
		m.x.Require(m.fd.open == open, "open: %d", m.fd.open)
	})
}

func TestExploreEdgesBesideATaker(t *testing.T) {
	unbounded(t, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(2, 0) })
		x.Go("network", func() {
			m.bring(1)
			m.bring(1)
		})
		m.allTaken(2)
	})
}

// Two workers report edges: the one that polls, and one that rescues.
func TestExploreEdgesOfTwoWorkers(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(2, 0) })
		x.Go("one", func() { m.bring(1) })
		x.Go("two", func() { m.bring(1) })
		m.allTaken(2)
	})
}

// One edge is for two bytes, so the first taker passes the turn on.
func TestExploreOneEdgeForTwoTakers(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("one", func() { m.taker(1, 0) })
		x.Go("two", func() { m.taker(1, 0) })
		x.Go("network", func() { m.bring(2) })
		m.allTaken(2)
	})
}

// A call that gives its wait up, as a canceled one does, loses nothing for the next.
func TestExploreAWaitThatIsGivenUp(t *testing.T) {
	unbounded(t, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(2, 1) })
		x.Go("network", func() { m.bring(2) })
		m.allTaken(2)
	})
}

// The call that gives up had the turn, or not, and does not come back.
func TestExploreATakerThatGivesUpForGood(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("quitter", func() {
			w, givesUp := &wait{Caller: &thread{m: m}, Takes: true}, 1
			if m.call(w, &givesUp) == nil {
				m.bring(1) // for the other
			}
		})
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("network", func() { m.bring(1) })
		m.allTaken(1)
	})
}

// The first call has failed after its wait, and so gives the turn up as one that succeeds.
func TestExploreTellersBesideATaker(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("teller", func() { m.teller(1) })
		x.Go("network", func() { m.bring(1) })
		x.Finally(func() { x.Require(m.readied == 1, "nobody was told") })
	})
	bounded(t, 2, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("one", func() { m.teller(1) })
		x.Go("network", func() {
			m.bring(1)
			m.bring(1) // for the teller, if the taker was first
		})
		m.allTaken(1)
		x.Finally(func() { x.Require(m.readied == 1, "nobody was told") })
	})
}

func TestExploreACloseBesideATaker(t *testing.T) {
	unbounded(t, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("closer", m.close)
		m.allFailed(1, net.ErrClosed, 0)
	})
}

func TestExploreACloseBesideATakerAndAnEdge(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(2, 0) })
		x.Go("network", func() { m.bring(1) })
		x.Go("closer", m.close)
		m.allFailed(1, net.ErrClosed, 0)
	})
}

func TestExploreACloseBesideATeller(t *testing.T) {
	unbounded(t, func(x *explorer.Execution, m *model) {
		x.Go("teller", func() { m.teller(1) })
		x.Go("closer", m.close)
		m.allFailed(1, net.ErrClosed, 0)
	})
}

func TestExploreTwoCloses(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("one", m.close)
		x.Go("two", m.close)
		m.allFailed(1, net.ErrClosed, 0)
	})
}

func TestExploreACloseBesideAWatch(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("reactor", m.watch)
		x.Go("closer", m.close)
		m.allFailed(1, net.ErrClosed, 0)
	})
}

func TestExploreADeadlineBesideATaker(t *testing.T) {
	unbounded(t, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("clock", m.expire)
		m.allFailed(1, os.ErrDeadlineExceeded, 1)
	})
}

func TestExploreADeadlineBesideTwoTakersAndAnEdge(t *testing.T) {
	bounded(t, 2, func(x *explorer.Execution, m *model) {
		x.Go("one", func() { m.taker(2, 0) })
		x.Go("two", func() { m.taker(2, 0) })
		x.Go("network", func() { m.bring(1) })
		x.Go("clock", m.expire)
		m.allFailed(2, os.ErrDeadlineExceeded, 1)
	})
}

// The reactor refuses the Watch of a call that waits. Nothing but the wake tells the call.
func TestExploreAWatchThatIsRefused(t *testing.T) {
	unbounded(t, func(x *explorer.Execution, m *model) {
		x.Go("taker", func() { m.taker(1, 0) })
		x.Go("reactor", func() {
			explorer.Rest(x, "waits for a call", &m.taken, m.side.Waits, func() {})
			m.refuse()
		})
		m.allFailed(1, errRefused, 1)
	})
}
