//go:build explore

package chanx

import (
	"testing"

	"github.com/suiro-go/suiro/sched"
)

// recvOneshot acts as a task that receives. Between its polls it may pass the receiver on to
// another task.
func (s sleeper) recvOneshot(rx *OneshotReceiver[int], before ...sched.Waker) (int, error) {
	f := (*oneshotRecvFuture[int])(rx)
	for _, w := range before {
		if v, err := f.await(w); err != sched.ErrPending {
			return v, err
		}
	}
	for {
		v, err := rx.TryRecv()
		if err == ErrEmpty {
			v, err = f.await(s.waker)
		}
		if err != sched.ErrPending {
			return v, err
		}
		s.sleep()
	}
}

func TestExploreAOneshotLosesNeitherTheValueNorTheWakeUp(t *testing.T) {
	scenes(t, map[string]aScene{
		"a send against a receive": {8, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			m.thread("sender", func(sleeper) { m.x.Require(tx.Send(nil, 5) == nil, "refused") })
			m.thread("receiver", func(s sleeper) {
				v, err := s.recvOneshot(rx)
				m.x.Require(v == 5 && err == nil, "%d, %v", v, err)
			})
		}},
		"a send against a receiver that moves between tasks": {4, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			m.thread("sender", func(sleeper) { m.x.Require(tx.Send(nil, 5) == nil, "refused") })
			m.thread("receiver", func(s sleeper) {
				v, err := s.recvOneshot(rx, m.sleeper().waker, m.sleeper().waker)
				m.x.Require(v == 5 && err == nil, "%d, %v", v, err)
			})
		}},
		"a send against a receiver that is canceled and polled again": {5, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			m.thread("sender", func(sleeper) { m.x.Require(tx.Send(nil, 5) == nil, "refused") })
			m.thread("receiver", func(s sleeper) {
				f := (*oneshotRecvFuture[int])(rx)
				_, err := f.await(m.sleeper().waker)
				if err == nil {
					return
				}
				f.Cancel()
				v, err := s.recvOneshot(rx)
				m.x.Require(v == 5 && err == nil, "%d, %v", v, err)
			})
		}},
		"a close of the sender against a receive": {8, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			m.thread("sender", func(sleeper) { tx.Close() })
			m.thread("receiver", func(s sleeper) {
				_, err := s.recvOneshot(rx)
				m.x.Require(err == ErrClosed, "%v", err)
			})
		}},
		"a send against a close of the receiver": {8, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			sent, got := false, false
			m.thread("sender", func(sleeper) { sent = tx.Send(nil, 5) == nil })
			m.thread("receiver", func(s sleeper) {
				_, _ = (*oneshotRecvFuture[int])(rx).await(s.waker)
				rx.Close()
				_, err := rx.TryRecv()
				got = err == nil || rx.taken
			})
			m.finally(func() { m.x.Require(sent == got, "sent: %v, received: %v", sent, got) })
		}},
		"a close of the receiver against a sender that waits for it": {8, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			m.thread("sender", func(s sleeper) {
				for (*oneshotClosedFuture[int])(tx).await(s.waker) == sched.ErrPending {
					s.sleep()
				}
				m.x.Require(tx.IsClosed(), "closed too early")
			})
			m.thread("receiver", func(sleeper) { rx.Close() })
		}},
		"a receiver that waits and a sender that waits for it, gives up, and sends": {5, true, func(m *scene) {
			tx, rx := NewOneshot[int]()
			m.thread("sender", func(s sleeper) {
				f := (*oneshotClosedFuture[int])(tx)
				if f.await(m.sleeper().waker) == sched.ErrPending {
					m.x.Require(f.await(s.waker) == sched.ErrPending, "closed")
					f.Cancel()
				}
				m.x.Require(tx.Send(nil, 5) == nil, "refused")
			})
			m.thread("receiver", func(s sleeper) {
				v, err := s.recvOneshot(rx)
				m.x.Require(v == 5 && err == nil, "%d, %v", v, err)
			})
		}},
	})
}

// A sender is notified of the end, whenever it comes.
func TestExploreTheEndOfABounded(t *testing.T) {
	scenes(t, map[string]aScene{
		"a stop against a sender that waits for the end": {3, true, func(m *scene) {
			c := newExplored(m.x, 1)
			tx := &Sender[int]{ch: c}
			m.thread("sender", func(s sleeper) {
				f := &closedFuture{ch: tx}
				for f.await(s.waker) == sched.ErrPending {
					s.sleep()
				}
				m.x.Require(tx.IsClosed(), "closed too early")
			})
			m.thread("receiver", func(sleeper) { c.stop(closedBit) })
		}},
	})
}
