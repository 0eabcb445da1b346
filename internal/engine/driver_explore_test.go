//go:build explore

package engine

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	explorer "github.com/suiro-go/suiro/internal/explore"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A takerTest is a driver whose owner polls until it closes, and workers that rescue meanwhile:
// the production code of Driver, over a reactor that checks its contract.
type takerTest struct {
	x     *explorer.Execution
	at    int // steps on the reactor concern this
	group Group

	arrived, taken int  // completions are numbered from 1
	perCall        int  // so many are taken at a time
	inPoll         bool // the owner is in the reactor's Poll
	wake, closed   bool
	stop           bool

	target explorerTarget
}

// An explorerTarget is where all completions go.
type explorerTarget struct {
	m         *takerTest
	by        *Driver // it is being delivered to; nil: nobody does
	delivered int
}

func (t *explorerTarget) Deliver(by *Driver, c *reactor.Completion) {
	x := t.m.x
	explorer.Step(x, "begins to deliver", t, func() {
		x.Require(t.by == nil, "two workers deliver at once")
		t.by = by
		x.Require(c.Res == t.delivered+1, "completion %d was delivered after %d", c.Res, t.delivered)
	})
	explorer.Step(x, "delivers", t, func() { t.by, t.delivered = nil, c.Res })
}

// A takerReactor is the owner's.
type takerReactor struct {
	reactor.Reactor
	m     *takerTest
	token reactor.Token
}

func (r *takerReactor) take(out []reactor.Completion) (n int) {
	m := r.m
	for ; n < m.perCall && m.taken < m.arrived; n++ {
		m.taken++
		out[n] = reactor.Completion{Token: r.token, Kind: reactor.Send, Res: m.taken}
	}
	return n
}

func (r *takerReactor) Poll(out []reactor.Completion, wait time.Duration, _ bool) (n int, err error) {
	m := r.m
	explorer.Step(m.x, "polls", &m.at, func() {
		m.x.Require(!m.closed, "a poll of a closed reactor")
		m.inPoll = true
	})
	explorer.Wait(m.x, "waits for completions", &m.at, func() bool { return m.wake || m.taken < m.arrived }, func() {
		n = r.take(out)
		m.wake, m.inPoll = false, false
	})
	return n, nil
}

func (r *takerReactor) Rescue(out []reactor.Completion) (n int, err error) {
	m := r.m
	explorer.Step(m.x, "rescues", &m.at, func() {
		m.x.Require(!m.inPoll, "a rescue during a poll")
		if m.closed {
			err = reactor.ErrClosed
			return
		}
		n = r.take(out)
	})
	return n, err
}

func (r *takerReactor) Close() error {
	m := r.m
	if m == nil {
		return nil
	}
	explorer.Step(m.x, "closes", &m.at, func() {
		m.x.Require(m.target.by == nil, "the reactor closes during a delivery")
		m.closed = true
	})
	return nil
}

func (r *takerReactor) Wake() error { return nil }

// A rescuer is a driver and the context of its worker, which has ended. Context.Driver and Keeps
// work without one.
type rescuer struct {
	Driver
	cx *sched.Context
}

func newRescuer(t *testing.T) *rescuer {
	t.Helper()
	r := new(rescuer)
	g := &Group{Config: Config{Logger: slog.New(slog.DiscardHandler)}}
	rt := sched.New(sched.Config{Workers: 1, SlowTask: -1, Spares: -1, NewDriver: func(int) (sched.Driver, error) {
		r.Init(g, 0, &blockingReactor{make(chan struct{}, 1), takerReactor{}})
		return r, nil
	}})
	_, err := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { r.cx = cx; return 0, nil })).Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, rt.Close())
	return r
}

// A blockingReactor only waits.
type blockingReactor struct {
	wake chan struct{}
	takerReactor
}

func (r *blockingReactor) Poll(_ []reactor.Completion, wait time.Duration, _ bool) (int, error) {
	if wait < 0 {
		<-r.wake
	}
	return 0, nil
}

func (r *blockingReactor) Rescue([]reactor.Completion) (int, error) { return 0, nil }

func (r *blockingReactor) Wake() error {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return nil
}

// exploreTaker lets so many completions arrive while so many workers rescue, each so often.
func exploreTaker(t *testing.T, preemptions, perCall, completions, rescuers, times int) {
	t.Helper()
	all := make([]*rescuer, rescuers+1)
	for i := range all {
		all[i] = newRescuer(t)
	}
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		m := &takerTest{x: x, perCall: perCall}
		m.target.m = m
		e := &Endpoint{Target: &m.target}
		m.group.Table.Add(e)
		for i, r := range all {
			r.Driver = Driver{}
			r.Init(&m.group, i, &takerReactor{m: m, token: e.Token})
		}
		owner := all[0]
		x.Go("owner", func() {
			for !m.stop {
				_, _ = owner.Poll(owner.cx, -1, false)
			}
			_ = owner.Close()
		})
		x.Go("kernel", func() {
			for range completions {
				explorer.Step(x, "a completion arrives", &m.at, func() { m.arrived++ })
			}
			explorer.Step(x, "stops the owner", &m.at, func() { m.stop, m.wake = true, true })
		})
		for _, r := range all[1:] {
			x.Go("rescuer", func() {
				for range times {
					owner.Rescue(r.cx)
				}
			})
		}
		x.Finally(func() {
			x.Require(m.target.delivered == m.taken, "%d completions were taken, and %d delivered", m.taken, m.target.delivered)
			x.Require(m.closed, "the reactor is open")
		})
	})
}

func TestExploreTheTaker(t *testing.T) {
	exploreTaker(t, 3, 1, 2, 1, 2)
	exploreTaker(t, 3, 2, 3, 1, 2)
}

func TestExploreTheTakerWithTwoRescuers(t *testing.T) {
	exploreTaker(t, 2, 1, 3, 2, 1)
}
