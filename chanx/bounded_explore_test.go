//go:build explore

package chanx

import (
	"testing"

	"github.com/suiro-go/suiro/sched"
)

// Each value is received once, none is overwritten, and the capacity is kept.
func TestExploreTheSlotProtocol(t *testing.T) {
	push := func(m *scene, c *bounded[int], values ...int) func(sleeper) {
		return func(sleeper) {
			for _, v := range values {
				if c.ring.push(v) == done {
					m.sent[v] = true
				}
			}
		}
	}
	pop := func(m *scene, c *bounded[int], times int) func(sleeper) {
		return func(sleeper) {
			for range times {
				if v, is := c.ring.pop(); is == done {
					m.received(v)
				}
			}
		}
	}
	popMany := func(m *scene, c *bounded[int]) func(sleeper) {
		return func(sleeper) {
			var buf [2]int
			n, _ := c.ring.popMany(buf[:])
			for _, v := range buf[:n] {
				m.received(v)
			}
		}
	}
	// At the end the remaining values are taken out, and no value is missing.
	finally := func(m *scene, c *bounded[int]) {
		m.finally(func() {
			for v, is := c.ring.pop(); is == done; v, is = c.ring.pop() {
				m.received(v)
			}
			m.x.Require(len(m.got) == len(m.sent), "%d sent, %d received", len(m.sent), len(m.got))
		})
	}
	scenes(t, map[string]aScene{
		"two producers and a consumer of one place": {3, true, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("producer", push(m, c, 1, 2))
			m.thread("other producer", push(m, c, 3))
			m.thread("consumer", pop(m, c, 2))
			finally(m, c)
		}},
		"a producer and two consumers of one place": {3, true, func(m *scene) {
			c := newExplored(m.x, 1)
			c.ring.push(4)
			m.sent[4] = true
			m.thread("producer", push(m, c, 1, 2))
			m.thread("consumer", pop(m, c, 1))
			m.thread("other consumer", pop(m, c, 1))
			finally(m, c)
		}},
		"a full ring of two comes around": {3, true, func(m *scene) {
			c := newExplored(m.x, 2)
			for v := 4; v <= 5; v++ {
				c.ring.push(v)
				m.sent[v] = true
			}
			m.thread("producer", push(m, c, 1, 2))
			m.thread("consumer", pop(m, c, 1))
			m.thread("other consumer", pop(m, c, 1))
			finally(m, c)
		}},
		"some at once beside one": {3, true, func(m *scene) {
			c := newExplored(m.x, 2)
			for v := 4; v <= 5; v++ {
				c.ring.push(v)
				m.sent[v] = true
			}
			m.thread("producer", push(m, c, 1))
			m.thread("consumer of many", popMany(m, c))
			m.thread("consumer", pop(m, c, 1))
			finally(m, c)
		}},
		"a permit beside a producer": {3, true, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("permitted", func(sleeper) {
				if c.ring.reserve() == done {
					m.sent[1] = c.ring.pushReserved(1) == done
				}
			})
			m.thread("producer", push(m, c, 2))
			m.thread("consumer", pop(m, c, 1))
			finally(m, c)
		}},
	})
}

func TestExploreWaitingLosesNoWakeUp(t *testing.T) {
	scenes(t, map[string]aScene{
		"a sender and a receiver by turns": {2, false, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("sender", func(s sleeper) { s.mustSend(c, 1); s.mustSend(c, 2) })
			m.thread("receiver", func(s sleeper) { s.mustRecv(c); s.mustRecv(c) })
		}},
		"two senders and a receiver": {2, false, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("sender", func(s sleeper) { s.mustSend(c, 1) })
			m.thread("other sender", func(s sleeper) { s.mustSend(c, 2) })
			m.thread("receiver", func(s sleeper) { s.mustRecv(c); s.mustRecv(c) })
		}},
		"a sender and two receivers": {2, false, func(m *scene) {
			c := newExplored(m.x, 2)
			m.thread("sender", func(s sleeper) { s.mustSend(c, 1); s.mustSend(c, 2) })
			m.thread("receiver", func(s sleeper) { s.mustRecv(c) })
			m.thread("other receiver", func(s sleeper) { s.mustRecv(c) })
		}},
		"two senders and two receivers": {2, false, func(m *scene) {
			c := newExplored(m.x, 2)
			for i := range 2 {
				m.thread(numbered("sender", i), func(s sleeper) { s.mustSend(c, i+1) })
				m.thread(numbered("receiver", i), func(s sleeper) { s.mustRecv(c) })
			}
		}},
		"a receiver that is canceled": {2, false, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("sender", func(s sleeper) { s.mustSend(c, 1) })
			m.thread("canceled", func(s sleeper) {
				f := &recvFuture[int]{}
				f.ch = c
				_, err := f.await(nil, s.waker)
				if err == nil {
					c.ring.push(1) // put back, for the other receiver
					c.passOn(nil)
				} else {
					f.Cancel()
				}
			})
			m.thread("receiver", func(s sleeper) { s.mustRecv(c) })
		}},
		"a sender that is canceled": {2, false, func(m *scene) {
			c := newExplored(m.x, 1)
			c.ring.push(3)
			m.thread("canceled", func(s sleeper) {
				f := &sendFuture[int]{value: 1}
				f.ch = c
				if f.await(nil, s.waker) == sched.ErrPending {
					f.Cancel()
				} else {
					s.mustRecv(c) // it has sent: now it frees the place that it has used
				}
			})
			m.thread("sender", func(s sleeper) { s.mustSend(c, 2) })
			m.thread("receiver", func(s sleeper) { s.mustRecv(c) })
		}},
		"the last sender goes": {2, false, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("sender", func(s sleeper) {
				s.mustSend(c, 1)
				c.stop(closedBit)
			})
			for i := range 2 {
				m.thread(numbered("receiver", i), func(s sleeper) {
					for s.recv(c) == nil {
					}
				})
			}
		}},
		"the last permit goes after the last sender": {3, false, func(m *scene) {
			c := newExplored(m.x, 1)
			m.x.Require(c.reserve() == done, "no room")
			m.thread("permit", func(sleeper) { c.unreserve(nil) })
			m.thread("sender", func(sleeper) { c.stop(closedBit) })
			m.thread("receiver", func(s sleeper) {
				m.x.Require(s.recv(c) == ErrClosed, "nothing was sent")
			})
		}},
		"the last receiver goes": {2, false, func(m *scene) {
			c := newExplored(m.x, 1)
			c.ring.push(3)
			for i := range 2 {
				m.thread(numbered("sender", i), func(s sleeper) { _ = s.send(c, i+1) })
			}
			m.thread("receiver", func(s sleeper) {
				s.mustRecv(c)
				c.stop(closedBit | noReceivers)
			})
		}},
		"a sender that is polled while it waits": {3, false, func(m *scene) {
			c := newExplored(m.x, 1)
			c.ring.push(3)
			m.thread("sender", func(s sleeper) {
				f := &sendFuture[int]{value: 1}
				f.ch = c
				old := m.sleeper()
				err := f.await(nil, old.waker)
				for err == sched.ErrPending {
					if err = f.await(nil, s.waker); err == sched.ErrPending {
						s.sleep()
					}
				}
				m.x.Require(err == nil, "%v", err)
			})
			m.thread("receiver", func(s sleeper) { s.mustRecv(c); s.mustRecv(c) })
		}},
		"a waker that changes": {3, false, func(m *scene) {
			c := newExplored(m.x, 1)
			m.thread("sender", func(s sleeper) { s.mustSend(c, 1) })
			m.thread("receiver", func(s sleeper) {
				f := &recvFuture[int]{}
				f.ch = c
				old := m.sleeper()
				if _, err := f.await(nil, old.waker); err == sched.ErrPending {
					for err == sched.ErrPending {
						if _, err = f.await(nil, s.waker); err == sched.ErrPending {
							s.sleep()
						}
					}
				}
			})
		}},
	})
}

func (s sleeper) mustSend(c *bounded[int], v int) {
	if err := s.send(c, v); err != nil {
		s.x.Failf("send: %v", err)
	}
}

func (s sleeper) mustRecv(c *bounded[int]) {
	if err := s.recv(c); err != nil {
		s.x.Failf("receive: %v", err)
	}
}
