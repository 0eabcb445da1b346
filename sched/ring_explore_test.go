//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A ringTest has a ring of capacity 4, a global queue, and tasks that must be delivered once each.
// The code of a thread between two atomic operations is a step of its own, because the slots are
// plain memory.
type ringTest struct {
	x      *explorer.Execution
	r      *ring
	rings  []*ring // all of them
	global globalQueue
	next   int // the next task to push
	times  [len(ringTestTasks)]int
}

var ringTestTasks [16]Task // their era is used as their number

func init() {
	for i := range ringTestTasks {
		ringTestTasks[i].era.Store(uint32(i))
	}
}

// exploreRing explores the threads that start makes. The ring begins with queued tasks, and with
// indices that soon wrap around.
func exploreRing(t *testing.T, preemptions, queued int, start func(m *ringTest)) {
	o := explorer.Options{Preemptions: preemptions, Plain: true}
	explorer.Explore(t, o, func(x *explorer.Execution) {
		m := &ringTest{x: x}
		m.r = m.newRing()
		for range queued {
			m.push(m.r)
		}
		start(m)
		x.Finally(m.allDelivered)
	})
}

func (m *ringTest) newRing() *ring {
	const begin = 1<<32 - 2
	r := newRing(4)
	r.head.Store(packHeads(begin, begin))
	r.tail.Store(begin)
	m.rings = append(m.rings, r)
	return r
}

// push queues the next task. Only one thread of a test may call it.
func (m *ringTest) push(r *ring) {
	task := &ringTestTasks[m.next]
	m.next++
	r.push(task, &m.global)
}

func (m *ringTest) delivered(t *Task) {
	if t == nil {
		return
	}
	i := t.era.Load()
	m.times[i]++
	m.x.Require(m.times[i] == 1, "task %d was delivered twice", i)
}

func (m *ringTest) pop(r *ring) { m.delivered(r.pop()) }

// thief is a thread that steals the given number of times, into its own queue.
func (m *ringTest) thief(name string, times int) {
	mine := m.newRing()
	m.x.Go(name, func() {
		for range times {
			t, _ := m.r.stealInto(mine)
			m.delivered(t)
		}
	})
}

func (m *ringTest) allDelivered() {
	for t := m.global.pop(); t != nil; t = m.global.pop() {
		m.delivered(t)
	}
	for _, r := range m.rings {
		for t := r.pop(); t != nil; t = r.pop() {
			m.delivered(t)
		}
		for _, t := range r.slots {
			m.x.Require(t == nil, "a slot keeps a task that was taken")
		}
		steal, real := heads(r.head.Load())
		m.x.Require(steal == real && real == r.tail.Load(), "steal %d, real %d, tail %d", steal, real, r.tail.Load())
	}
	for i, n := range m.times[:m.next] {
		m.x.Require(n == 1, "task %d was delivered %d times", i, n)
	}
}

func TestExploreOwnerPushesAndPopsWhileAThiefSteals(t *testing.T) {
	exploreRing(t, 4, 2, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.push(m.r)
			m.pop(m.r)
			m.push(m.r)
			m.pop(m.r)
		})
		m.thief("thief", 2)
	})
}

func TestExploreTwoThievesAndTheOwner(t *testing.T) {
	exploreRing(t, 3, 3, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.pop(m.r)
			m.push(m.r)
			m.pop(m.r)
		})
		m.thief("thief", 1)
		m.thief("other", 1)
	})
}

func TestExplorePopAgainstTheClaimOfTheLastTask(t *testing.T) {
	exploreRing(t, 6, 1, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.pop(m.r)
			m.push(m.r)
		})
		m.thief("thief", 1)
	})
}

// The owner pushes until the only free slots are those that a thief reads.
func TestExplorePushWaitsForNoThiefAndOverwritesNothing(t *testing.T) {
	exploreRing(t, 4, 2, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.pop(m.r)
			for range 4 {
				m.push(m.r)
			}
		})
		m.thief("thief", 1)
	})
}

func TestExploreOverflowWhileAThiefSteals(t *testing.T) {
	exploreRing(t, 4, 4, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.push(m.r) // finds the ring full
			m.push(m.r)
			m.pop(m.r)
		})
		m.thief("thief", 2)
	})
}

// After an overflow the head has its old value, and after two more pushes so has the tail. A thief
// that has loaded both may claim tasks that were pushed later.
func TestExploreTwoOverflowsWhileAThiefSteals(t *testing.T) {
	exploreRing(t, 4, 4, func(m *ringTest) {
		m.x.Go("owner", func() {
			for range 4 {
				m.push(m.r)
			}
		})
		m.thief("thief", 1)
	})
}

func TestExploreOverflowWhileTwoThievesSteal(t *testing.T) {
	exploreRing(t, 3, 4, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.push(m.r)
			m.pop(m.r)
		})
		m.thief("thief", 1)
		m.thief("other", 1)
	})
}

// A thief steals into its queue while another one steals from there.
func TestExploreATheftFromAThief(t *testing.T) {
	exploreRing(t, 3, 4, func(m *ringTest) {
		mine := m.newRing()
		m.x.Go("thief", func() {
			got, _ := m.r.stealInto(mine)
			m.delivered(got)
			m.pop(mine)
		})
		last := m.newRing()
		m.x.Go("thief's thief", func() {
			got, _ := mine.stealInto(last)
			m.delivered(got)
		})
		m.x.Go("owner", func() { m.pop(m.r) })
	})
}

func TestExploreABatchPushedWhileAThiefSteals(t *testing.T) {
	exploreRing(t, 4, 2, func(m *ringTest) {
		m.x.Go("owner", func() {
			var list taskList
			for range 4 {
				list.push(&ringTestTasks[m.next])
				m.next++
			}
			m.r.pushAll(&list)
			m.pop(m.r)
			m.global.pushBatch(&list)
		})
		m.thief("thief", 2)
	})
}

// A check for work must miss none: len is not 0 for a queue that is never empty and does not
// overflow.
func TestExploreLenOverlooksNoTask(t *testing.T) {
	exploreRing(t, 3, 3, func(m *ringTest) {
		m.x.Go("owner", func() {
			m.push(m.r)
			m.pop(m.r)
			m.push(m.r)
		})
		mine := m.newRing()
		m.x.Go("thief", func() {
			got, _ := m.r.stealInto(mine) // at most half of them
			m.delivered(got)
		})
		m.x.Go("looks", func() {
			n := m.r.len() // possibly too many: an early head and a late tail
			m.x.Require(n > 0, "len is %d", n)
		})
	})
}
