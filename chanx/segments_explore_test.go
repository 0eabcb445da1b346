//go:build explore

package chanx

import "testing"

// The blocks have two slots here. Each value is stored at the position that its producer has
// claimed, also when blocks are reused meanwhile.
func TestExploreTheBlocksOfAnUnboundedChannel(t *testing.T) {
	scene := func(preemptions int, ahead int, producers ...[]int) aScene {
		return aScene{preemptions, true, func(m *scene) {
			var q segments[int]
			q.init()
			total := 0
			for v := 100; v < 100+ahead; v++ {
				q.push(v)
				total++
			}
			for i, values := range producers {
				total += len(values)
				m.thread(numbered("producer", i), func(sleeper) {
					for _, v := range values {
						m.x.Require(q.push(v), "refused")
					}
				})
			}
			m.thread("consumer", func(sleeper) {
				for range ahead + 1 {
					if v, is := q.pop(); is == done {
						m.received(v)
					}
				}
			})
			m.finally(func() {
				for v, is := q.pop(); is == done; v, is = q.pop() {
					m.received(v)
				}
				m.x.Require(len(m.got) == total, "%d of %d values were received", len(m.got), total)
			})
		}}
	}
	scenes(t, map[string]aScene{
		"two producers begin a block":            scene(2, 1, []int{1, 2}, []int{3}),
		"blocks are used again under a producer": scene(2, 3, []int{1, 2}, []int{3, 4}),
		"one producer, one step behind":          scene(3, 2, []int{1, 2, 3}),
	})
}
