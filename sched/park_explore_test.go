//go:build explore

package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// parking are the scenarios, each with an affordable number of preemptions. Waits are endless: a
// task that a lost wake-up leaves behind is found when all threads wait.
var parking = map[string]struct {
	preemptions, workers, awake int
	start                       func(m *parkTest)
}{
	"a push while the only worker parks": {6, 1, 1, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse))
	}},
	"two pushes while the only worker parks": {4, 1, 1, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse))
		m.outside("other", m.task(nothingElse))
	}},
	"things for one worker while it parks": {4, 1, 1, func(m *parkTest) {
		m.injector("injector", m.workers[0])
		m.injector("other", m.workers[0])
	}},
	"pushes while two workers park": {2, 2, 2, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse))
		m.outside("other", m.task(nothingElse))
	}},
	"pushes while one worker parks and one is parked": {2, 2, 1, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse), m.task(nothingElse))
		m.injector("injector", m.workers[1])
	}},
	"a burst onto two idle workers": {3, 2, 0, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse), m.task(nothingElse), m.task(nothingElse))
	}},
	"a burst onto three idle workers": {2, 3, 0, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse), m.task(nothingElse), m.task(nothingElse))
	}},
	"a push while three workers park": {2, 3, 3, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse))
	}},
	"a push while one of four workers parks": {1, 4, 1, func(m *parkTest) {
		m.outside("pusher", m.task(nothingElse))
	}},
	"a task that spawns two while another worker parks": {2, 2, 2, func(m *parkTest) {
		one, two := m.task(nothingElse), m.task(nothingElse)
		m.outside("pusher", m.task(func(w *workerTest) { w.spawn(one); w.spawn(two) }))
	}},
	"tasks behind one that never ends": {3, 2, 1, func(m *parkTest) {
		m.outside("pusher", m.task(isStuck), m.task(nothingElse))
	}},
	"a push while a worker searches for a task that never ends": {2, 2, 2, func(m *parkTest) {
		m.outside("pusher", m.task(isStuck))
		m.outside("other", m.task(nothingElse))
	}},
	"tasks that came with one that never ends": {2, 3, 0, func(m *parkTest) {
		m.outside("pusher", m.task(isStuck), m.task(isStuck), m.task(nothingElse))
	}},
	"tasks spawned by one that never ends": {2, 2, 2, func(m *parkTest) {
		one, two := m.task(nothingElse), m.task(nothingElse)
		m.outside("pusher", m.task(func(w *workerTest) { w.spawn(one); w.spawn(two); isStuck(w) }))
	}},
	"a queue that overflows before its worker is stuck": {2, 2, 1, func(m *parkTest) {
		var all []*Task
		for range 5 {
			all = append(all, m.task(nothingElse))
		}
		m.outside("pusher", m.task(func(w *workerTest) {
			for _, t := range all {
				w.spawn(t)
			}
			isStuck(w)
		}))
	}},
}

// No queued task waits while a worker that could run it sleeps. One worker at
// a time is woken, and at most half of them search. In the end all are parked and none searches.
func TestExploreParkingLosesNoWakeUp(t *testing.T) {
	for name, c := range parking {
		t.Run(name, func(t *testing.T) {
			o, scenario := parkingScenario(c.preemptions, c.workers, c.awake, parkingOrder{}, c.start)
			explorer.Explore(t, o, scenario)
		})
	}
}

// Work for one particular worker, such as a timer, needs only the parker. It must also not be lost
// if a hold, which consumes the driver's wake-up, precedes the wait.
func TestExploreTheParkerAloneLosesNoWakeUp(t *testing.T) {
	c := parking["things for one worker while it parks"]
	for name, order := range map[string]parkingOrder{
		"blocking at once": {trustsParker: true},
		"holding first":    {trustsParker: true, holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			o, scenario := parkingScenario(c.preemptions, c.workers, c.awake, order, c.start)
			explorer.Explore(t, o, scenario)
		})
	}
}

func TestExploreFindsWhatAWrongOrderOfParkingDoes(t *testing.T) {
	for name, c := range map[string]struct {
		order        parkingOrder
		in, complain string
	}{
		"looking before parking is announced": {
			parkingOrder{looksFirst: true}, "a push while the only worker parks", "a wake-up was lost",
		},
		"looking between the end of the search and the announcement": {
			parkingOrder{saysSoLast: true}, "a push while a worker searches for a task that never ends", "a wake-up was lost",
		},
		"not looking": {
			parkingOrder{waitsAtOnce: true}, "a push while the only worker parks", "a wake-up was lost",
		},
		"looking into the inbox before announcements are forgotten": {
			parkingOrder{takesTooEarly: true, trustsParker: true}, "things for one worker while it parks", "a wake-up was lost",
		},
		"blocking after a hold without a look": {
			parkingOrder{holds: true, waitsAnyhow: true}, "things for one worker while it parks", "a wake-up was lost",
		},
		"leaving what is left": {
			parkingOrder{leavesTheRest: true}, "tasks that came with one that never ends", "a wake-up was lost",
		},
		"counting a search twice": {
			parkingOrder{keepsSearching: true}, "a push while one of four workers parks", "workers search",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := parking[c.in]
			o, scenario := parkingScenario(in.preemptions, in.workers, in.awake, c.order, in.start)
			require.Contains(t, explorer.Run(o, scenario).Failure, c.complain)
		})
	}
}
