//go:build explore

package membudget

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A bank is a budget of 4 bytes, tight above 3, and those that use it.
type bank struct {
	x      *explorer.Execution
	budget Budget
	served int // waiters that found room
}

// A customer is a task that waits for room.
type customer struct {
	*bank
	place Waiter
	woken bool
	told  bool // by the budget: it has to pass that on
	got   bool
}

func (b *bank) customer() *customer { return &customer{bank: b, woken: true} }

func (c *customer) Wake() {
	explorer.Step(c.x, "wakes", &c.woken, func() { c.woken, c.told = true, true })
}

// run is the task: each of its runs asks for room until there was some. Runs that the budget
// has brought about pass on.
func (c *customer) run(shed func()) {
	for {
		explorer.Rest(c.x, "sleeps", &c.woken, func() bool { return c.woken }, func() { c.woken = false })
		if !c.got && c.budget.Await(&c.place, c) {
			c.got = true
			explorer.Step(c.x, "is served", &c.served, func() { c.served++ })
		}
		if c.told && c.budget.WakeNext() {
			shed()
		}
	}
}

// never is for budgets that have a way out.
func (b *bank) never() { b.x.Require(false, "a connection is reset") }

// Memory that is given back wakes all that wait, one by the other.
func TestExploreWhoWaitsForMemory(t *testing.T) {
	for name, of := range map[string]struct {
		preemptions, customers, unsent, taken int
		passes                                bool // the first runs pass on, too
	}{
		"one":                          {explorer.Unbounded, 1, 4, 1, false},
		"one that passes on":           {explorer.Unbounded, 1, 4, 1, true},
		"one, for what leaves at once": {explorer.Unbounded, 1, 4, 4, true},
		"two":                          {2, 2, 4, 2, false},
		"two, for two connections":     {2, 2, 2, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: of.preemptions}, func(x *explorer.Execution) {
				b := &bank{x: x, budget: Budget{Max: 4}}
				for i := range of.customers {
					c := b.customer()
					c.told = of.passes
					x.Go(string(rune('a'+i)), func() { c.run(b.never) })
				}
				for i := range 4 / of.unsent {
					usage := new(Usage)
					b.budget.Set(usage, of.unsent, 0)
					x.Go(string(rune('A'+i)), func() { // a connection whose peer takes all
						for range of.unsent / of.taken {
							b.budget.Sent(usage, of.taken)
							if b.budget.WakeNext() {
								b.never()
							}
						}
					})
				}
				x.Finally(func() {
					x.Require(b.served == of.customers, "%d of %d were served: a wake-up was lost", b.served, of.customers)
					x.Require(b.budget.Buffered() == 0, "%d bytes are left", b.budget.Buffered())
				})
			})
		})
	}
}

// When nothing is unsent and nobody reads, a connection is reset, and those that wait go on.
func TestExploreWaitingThatWouldNotHelp(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
		b := &bank{x: x, budget: Budget{Max: 4}}
		var unread, unsent Usage
		b.budget.Set(&unread, 0, 4)
		b.budget.Set(&unsent, 1, 0)
		gone := false
		shed := func() {
			first := false
			explorer.Step(x, "resets", &gone, func() { first, gone = !gone, true })
			if first {
				b.budget.Shed(&unread)
				x.Require(!b.budget.WakeNext(), "a second connection is reset")
			}
		}
		c := b.customer()
		c.told = true
		x.Go("a", func() { c.run(shed) })
		x.Go("peer", func() {
			b.budget.Sent(&unsent, 1)
			if b.budget.WakeNext() {
				shed()
			}
		})
		x.Finally(func() {
			x.Require(gone, "no connection was reset")
			x.Require(b.served == 1, "the task waits for ever: a wake-up was lost")
			x.Require(b.budget.Buffered() == 0, "%d bytes are left", b.budget.Buffered())
		})
	})
}

// The bytes that a connection has received and answers are counted once, at every moment.
func TestExploreBytesThatAreAnswered(t *testing.T) {
	for name, of := range map[string][2]int{"answered": {0, 3}, "taken, while as many arrive": {3, 0}} {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: explorer.Unbounded}, func(x *explorer.Execution) {
				b := &bank{x: x, budget: Budget{Max: 4}}
				var usage Usage
				b.budget.Set(&usage, of[1], of[0])
				x.Go("connection", func() { b.budget.Set(&usage, of[0], of[1]) })
				x.Go("another", func() { x.Require(!b.budget.Full(), "a connection is reset: %d bytes", b.budget.Own()) })
			})
		})
	}
}
