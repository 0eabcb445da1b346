//go:build explore

package chanx

import "testing"

// The last receiver closes while values are being sent: none of them stays in the channel.
func TestExploreCloseLeavesNothing(t *testing.T) {
	scenes(t, map[string]aScene{
		"unbounded, against a send": {2, true, func(m *scene) {
			tx, rx := NewUnbounded[int]()
			m.thread("sender", func(sleeper) { _ = tx.Send(nil, 1) })
			m.thread("receiver", func(sleeper) {
				rx.Close()
				m.x.Require(rx.Len() == 0, "%d values stay", rx.Len())
			})
		}},
		"unbounded, against the close of the last sender": {2, true, func(m *scene) {
			tx, rx := NewUnbounded[int]()
			m.thread("sender", func(sleeper) { _ = tx.Send(nil, 1) })
			m.thread("closer", func(sleeper) { tx.Close() })
			m.thread("receiver", func(sleeper) { rx.Close() })
			m.finally(func() { m.x.Require(rx.Len() == 0, "%d values stay", rx.Len()) })
		}},
		"bounded": {2, true, func(m *scene) {
			tx, rx := NewBounded[int](2)
			for i := range 2 {
				m.thread(numbered("sender", i), func(sleeper) { _ = tx.TrySend(i + 1) })
			}
			m.thread("receiver", func(sleeper) { rx.Close() })
			m.finally(func() { m.x.Require(rx.Len() == 0, "%d values stay", rx.Len()) })
		}},
	})
}
