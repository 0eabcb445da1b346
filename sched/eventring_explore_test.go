//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A reader copies a ring of two events while the worker writes. It sees only whole events, in their
// order.
func TestExploreAnEventRing(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
		r := &eventRing{slots: make([]eventSlot, 2)}
		write := func(n int) {
			for range n {
				number := r.next
				r.put(100+number, 200+number)
			}
		}
		check := func() (count int) {
			last := uint64(0)
			r.read(func(number, when, what uint64) {
				x.Require(when == 100+number && what == 200+number, "event %d is %d, %d", number, when, what)
				x.Require(count == 0 || number == last+1, "event %d follows %d", number, last)
				last = number
				count++
			})
			return count
		}
		write(1)
		x.Go("worker", func() { write(3) })
		x.Go("reader", func() { check() })
		x.Finally(func() {
			x.Require(check() == 1, "the oldest slot may be written at any time: one event of two is whole")
		})
	})
}
