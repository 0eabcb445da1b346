//go:build explore

package syncx

import (
	"context"
	"errors"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
	"github.com/suiro-go/suiro/sched"
)

type unit = struct{}

var errBroken = errors.New("a branch fails")

const never = 0

// A thing can be taken by one future at a time.
type thing struct {
	take func() sched.Future[unit]
	give func()
	held int
}

// things are the kinds of things. Each call makes a new thing that is free, and a check that it is
// free again.
var things = map[string]func() (t *thing, free func() bool){
	"Mutex": func() (*thing, func() bool) {
		m := new(Mutex)
		return &thing{take: m.LockFuture, give: m.Unlock}, m.AtRest
	},
	"RWMutex": func() (*thing, func() bool) {
		rw := new(RWMutex)
		return &thing{take: rw.LockFuture, give: rw.Unlock}, rw.AtRest
	},
	"Semaphore": func() (*thing, func() bool) {
		s := NewSemaphore(2)
		take := func() sched.Future[unit] { return s.AcquireFuture(2) }
		return &thing{take: take, give: func() { s.Release(2) }}, func() bool { return s.AtRest(2) }
	},
	"Notify": func() (*thing, func() bool) {
		n := new(Notify)
		n.NotifyOne()
		return &thing{take: n.WaitFuture, give: n.NotifyOne}, func() bool { return n.TryWait() && n.AtRest() }
	},
}

// withContexts calls f with the contexts of so many tasks. Each of them belongs to a Poll that does
// not return before f does.
func withContexts(n int, f func(cxs []*sched.Context)) {
	_, _ = sched.Await(context.Background(), sched.Unconstrained(sched.FutureFunc[unit](func(cx *sched.Context) (unit, error) {
		if n == 1 {
			f([]*sched.Context{cx})
		} else {
			withContexts(n-1, func(cxs []*sched.Context) { f(append(cxs, cx)) })
		}
		return unit{}, nil
	})))
}

// An abandonTest has two things, a thread that gives up a future of both, and threads that want
// one of them each.
type abandonTest struct {
	*waitTest
	a, b *thing
	both *sched.Context // of the thread that wants both
}

// use holds things that have been taken, and gives them back.
func (m *abandonTest) use(ts ...*thing) {
	for _, t := range ts {
		explorer.Step(m.x, "has it", &t.held, func() {
			t.held++
			m.x.Require(t.held == 1, "%d have it", t.held)
		})
	}
	for _, t := range ts {
		explorer.Step(m.x, "is to give it", &t.held, func() { t.held-- })
		t.give()
	}
}

// wants takes a thing for a thread, and gives it back. It waits as long as it must.
func (m *abandonTest) wants(name string, t *thing, cx *sched.Context) {
	s, f := &sleeper{x: m.x}, t.take()
	m.who[cx.Waker()] = s
	m.x.Go(name, func() {
		s.until(func() bool {
			_, err := f.Poll(cx)
			return err == nil
		})
		m.use(t)
	})
}

// failing fails at the poll with that number, from 1.
func failing(at int) sched.Future[unit] {
	return sched.FutureFunc[unit](func(*sched.Context) (unit, error) {
		if at--; at == 0 {
			return unit{}, errBroken
		}
		return unit{}, sched.ErrPending
	})
}

// abandoning are the ways to give up a future of two things after so many polls, whether or not the
// thread was woken in between.
var abandoning = map[string]func(m *abandonTest, polls int){
	"a Join": func(m *abandonTest, polls int) {
		join := sched.Join2(m.a.take(), m.b.take())
		for range polls {
			if _, err := join.Poll(m.both); err == nil {
				m.use(m.a, m.b)
				return
			}
		}
		abandon(join)
	},
	"a Join with a Timeout": func(m *abandonTest, _ int) {
		_, err := sched.Timeout(0, sched.Join2(m.a.take(), m.b.take())).Poll(m.both)
		if err == nil {
			m.use(m.a, m.b)
			return
		}
		m.x.Require(err == sched.ErrTimeout, "%v", err)
	},
	"a Join that fails": func(m *abandonTest, polls int) {
		join := sched.Join(m.a.take(), m.b.take(), failing(polls))
		for range polls - 1 {
			_, err := join.Poll(m.both)
			m.x.Require(err == sched.ErrPending, "%v", err)
		}
		_, err := join.Poll(m.both)
		m.x.Require(err == errBroken, "%v", err)
	},
	"a Join of a Join": func(m *abandonTest, polls int) {
		join := sched.Join2(sched.Join2(m.a.take(), m.b.take()), failing(never))
		for range polls {
			_, err := join.Poll(m.both)
			m.x.Require(err == sched.ErrPending, "%v", err)
		}
		abandon(join)
	},
	"the loser of a Select": func(m *abandonTest, polls int) {
		first := sched.SelectBiased(m.a.take(), m.b.take())
		for range polls {
			if got, err := first.Poll(m.both); err == nil {
				m.use([]*thing{m.a, m.b}[got.Index])
				return
			}
		}
		abandon(first)
	},
}

func abandon(f any) { f.(sched.Canceler).Cancel() }

// A future of two things is given up while others take and release the things. Then nothing is
// left taken, nothing is taken twice, and no other waiter is forgotten.
func TestExploreAnAbandonedFutureKeepsNothing(t *testing.T) {
	before := mutexSpins
	mutexSpins = 0
	t.Cleanup(func() { mutexSpins = before })
	for kind, make := range things {
		for way, gives := range abandoning {
			explores := func(t *testing.T) {
				withContexts(3, func(cxs []*sched.Context) {
					explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
						a, aIsFree := make()
						b, bIsFree := make()
						m := &abandonTest{waitTest: newWaitTest(x), a: a, b: b, both: cxs[0]}
						x.Go("gives up", func() { gives(m, 2) })
						m.wants("wants a", a, cxs[1])
						m.wants("wants b", b, cxs[2])
						x.Finally(func() {
							x.Require(aIsFree(), "the first one is not free")
							x.Require(bIsFree(), "the second one is not free")
						})
					})
				})
			}
			t.Run(kind+"/"+way, func(t *testing.T) {
				if kind == "Mutex" {
					overtaking(t, explores)
				} else {
					explores(t)
				}
			})
		}
	}
}
