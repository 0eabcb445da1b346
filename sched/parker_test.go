package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A parkModel is a worker and two goroutines that have something for it,
// between two atomic steps. Waits are endless: a wake-up that is lost leaves
// the worker at rest with something put down.
type parkModel struct {
	parker  uint32
	pending bool // the driver has a wake that no wait has taken
	inbox   int
	taken   int
	worker  parkStep
	seen    uint32 // what looking has loaded
	givers  [2]giveStep
}

type parkStep int

const (
	atTickStart parkStep = iota
	inHold
	afterHold
	inBlock
	beforeLooking
	beforeStore
	beforeTaking
)

type giveStep int

const (
	puts giveStep = iota
	unparks
	wakesDriver
	gone
)

func (m parkModel) with(f func(p *parker)) parkModel {
	var p parker
	p.state.Store(m.parker)
	f(&p)
	m.parker = p.state.Load()
	return m
}

// A parkOrder is the order in which the worker does things: the right one, and
// wrong ones that must be found out.
type parkOrder struct {
	holds         bool
	takesTooEarly bool // looks before it forgets what was announced
	waitsAnyhow   bool // does not look at the parker between hold and block
}

func (m parkModel) giverSteps() (all []parkModel) {
	for i, at := range m.givers {
		next := m
		switch at {
		case puts:
			next.inbox++
			next.givers[i] = unparks
		case unparks:
			next = m.with(func(p *parker) {
				if p.unpark() {
					at = wakesDriver
				} else {
					at = gone
				}
			})
			next.givers[i] = at
		case wakesDriver:
			next.pending = true
			next.givers[i] = gone
		default:
			continue
		}
		all = append(all, next)
	}
	return all
}

func (m parkModel) at(s parkStep) parkModel { m.worker = s; return m }

func (m parkModel) takes() parkModel {
	m.taken += m.inbox
	m.inbox = 0
	return m
}

func (m parkModel) workerSteps(o parkOrder) []parkModel {
	switch m.worker {
	case atTickStart:
		then := inBlock
		if o.holds {
			then = inHold
		}
		next := m.with(func(p *parker) {
			if !p.tryPark() {
				then = beforeLooking
			}
		})
		return []parkModel{next.at(then)}
	case inHold: // ends with a wake or without
		if m.pending {
			woken := m.at(afterHold)
			woken.pending = false
			return []parkModel{woken, m.at(afterHold)}
		}
		return []parkModel{m.at(afterHold)}
	case afterHold:
		var still bool
		next := m.with(func(p *parker) { still = p.isParked() })
		if still || o.waitsAnyhow {
			return []parkModel{next.at(inBlock)}
		}
		return []parkModel{next.at(beforeLooking)}
	case inBlock:
		if !m.pending {
			return nil
		}
		m.pending = false
		return []parkModel{m.at(beforeLooking)}
	case beforeLooking: // looking is a load and, if need be, a store
		if o.takesTooEarly {
			m = m.takes()
		}
		m.seen = m.parker
		return []parkModel{m.at(beforeStore)}
	case beforeStore:
		if m.seen != unparked {
			m.parker = unparked
		}
		m.seen = 0
		return []parkModel{m.at(beforeTaking)}
	default:
		if !o.takesTooEarly {
			m = m.takes()
		}
		return []parkModel{m.at(atTickStart)}
	}
}

func exploreParking(t *testing.T, o parkOrder) []parkModel {
	next := func(m parkModel) []parkModel { return append(m.giverSteps(), m.workerSteps(o)...) }
	wrong := func(m parkModel, atRest bool) bool { return atRest && m.taken != len(m.givers) }
	return explore(t, parkModel{}, next, wrong)
}

func TestNoInterleavingOfParkAndUnparkLosesAWakeUp(t *testing.T) {
	for _, holds := range []bool{true, false} {
		t.Run(fmt.Sprintf("holds %v", holds), func(t *testing.T) {
			require.Empty(t, exploreParking(t, parkOrder{holds: holds}))
		})
	}
}

func TestTheExplorerFindsALostWakeUp(t *testing.T) {
	for name, order := range map[string]parkOrder{
		"looking before forgetting": {takesTooEarly: true},
		"no look after the hold":    {holds: true, waitsAnyhow: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, exploreParking(t, order))
		})
	}
}

func TestOneUnparkOfSeveralWakesTheDriver(t *testing.T) {
	var p parker
	require.False(t, p.unpark(), "a worker that runs")
	require.False(t, p.tryPark(), "it has not looked since")
	p.looking()
	require.True(t, p.tryPark())
	require.True(t, p.isParked())
	require.True(t, p.unpark())
	require.False(t, p.isParked())
	require.False(t, p.unpark())
}
