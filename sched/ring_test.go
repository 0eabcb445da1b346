package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func newRing(capacity int) *ring {
	r := new(ring)
	r.init(capacity)
	return r
}

// popAll empties a ring.
func popAll(r *ring) (all []*Task) {
	for t := r.pop(); t != nil; t = r.pop() {
		all = append(all, t)
	}
	return all
}

func onCapacities(t *testing.T, test func(t *testing.T, capacity int)) {
	for _, capacity := range []int{ringSize, 4} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) { test(t, capacity) })
	}
}

// newTasks returns new tasks, and the index of each.
func newTasks(n int) (tasks []*Task, index map[*Task]int) {
	index = make(map[*Task]int, n)
	for i := range n {
		tasks = append(tasks, new(Task))
		index[tasks[i]] = i
	}
	return tasks, index
}

// The ring keeps its older half, which has waited longer.
func TestAFullRingGivesItsNewerHalfAway(t *testing.T) {
	onCapacities(t, func(t *testing.T, capacity int) {
		for _, start := range []int{0, 1, capacity / 2, capacity - 1, capacity, 2*capacity - 1} { // the initial value of its indices
			r, global := newRing(capacity), new(globalQueue)
			for range start {
				require.False(t, r.push(new(Task), global))
				require.NotNil(t, r.pop())
			}
			tasks, _ := newTasks(capacity + 1)
			for i, task := range tasks {
				require.Equal(t, capacity-i, max(0, r.room()))
				require.Equal(t, i == capacity, r.push(task, global))
			}
			kept := capacity / 2
			require.Equal(t, kept, r.len())
			require.EqualValues(t, capacity+1-kept, global.len.Load())
			require.Equal(t, tasks[:kept], popAll(r))
			for _, want := range tasks[kept:] {
				require.Same(t, want, global.pop())
			}
			require.Nil(t, global.pop())
			require.Zero(t, r.len())
			require.Equal(t, capacity, r.room())
		}
	})
}

func TestAThiefTakesTheOlderHalf(t *testing.T) {
	for _, c := range []struct{ queued, taken int }{{0, 0}, {1, 1}, {2, 1}, {3, 2}, {4, 2}} {
		for _, capacity := range []int{ringSize, 4} {
			t.Run(fmt.Sprintf("%d of %d", c.queued, capacity), func(t *testing.T) {
				r, dst, global := newRing(capacity), newRing(capacity), new(globalQueue)
				tasks, _ := newTasks(c.queued)
				for _, task := range tasks {
					r.push(task, global)
				}
				got, n := r.stealInto(dst)
				require.Equal(t, c.taken, n)
				if n == 0 {
					require.Nil(t, got)
					return
				}
				require.Same(t, tasks[n-1], got, "the newest is returned")
				require.Equal(t, n-1, dst.len(), "the others are kept")
				require.Equal(t, c.queued-n, r.len())
				require.Equal(t, append(popAll(dst), got), tasks[:n])
				require.Equal(t, popAll(r), append([]*Task(nil), tasks[n:]...))
			})
		}
	}
}

func TestAThiefWithAFullRingTakesNothing(t *testing.T) {
	onCapacities(t, func(t *testing.T, capacity int) {
		r, dst, global := newRing(capacity), newRing(capacity), new(globalQueue)
		for range capacity {
			r.push(new(Task), global)
		}
		for range capacity/2 + 1 {
			dst.push(new(Task), global)
		}
		got, n := r.stealInto(dst)
		require.Nil(t, got)
		require.Zero(t, n)
		require.Equal(t, capacity, r.len())
		dst.pop()
		got, n = r.stealInto(dst)
		require.NotNil(t, got)
		require.Equal(t, capacity/2, n)
		require.Equal(t, capacity-1, dst.len())
	})
}

// While a thief copies, the slots that it reads are not free, and no other thief can steal.
func TestAClaimedPartIsLeftAloneUntilItsRelease(t *testing.T) {
	onCapacities(t, func(t *testing.T, capacity int) {
		r, dst, global := newRing(capacity), newRing(capacity), new(globalQueue)
		tasks, _ := newTasks(capacity)
		for _, task := range tasks {
			r.push(task, global)
		}
		from, n := r.claim(uint32(capacity))
		require.EqualValues(t, capacity/2, n)
		got, taken := r.stealInto(dst)
		require.Nil(t, got)
		require.Zero(t, taken)
		one := new(Task)
		require.True(t, r.push(one, global), "no room")
		require.EqualValues(t, 1, global.len.Load())
		require.Same(t, tasks[n], r.pop(), "what is not claimed can be taken")
		for i := range n {
			require.Same(t, tasks[i], r.slots[(from+i)&r.mask])
		}
		r.release()
		require.False(t, r.push(one, global))
		require.Equal(t, append(append([]*Task(nil), tasks[n+1:]...), one), popAll(r))
	})
}

func TestARingWorksAcrossTheWrapOfItsIndices(t *testing.T) {
	onCapacities(t, func(t *testing.T, capacity int) {
		r, dst, global := newRing(capacity), newRing(capacity), new(globalQueue)
		begin := ^uint32(0) - uint32(4*capacity)
		r.head.Store(packHeads(begin, begin))
		r.tail.Store(begin)
		for range 10 {
			tasks, _ := newTasks(capacity)
			for _, task := range tasks {
				require.False(t, r.push(task, global))
			}
			require.Equal(t, capacity, r.len())
			got, n := r.stealInto(dst)
			require.Equal(t, tasks, append(append(popAll(dst), got), popAll(r)...))
			require.Equal(t, capacity/2, n)
			require.Zero(t, r.len())
		}
	})
}

func TestPushAllTakesAsManyAsThereIsRoomFor(t *testing.T) {
	onCapacities(t, func(t *testing.T, capacity int) {
		r := newRing(capacity)
		tasks, _ := newTasks(capacity + 3)
		var list taskList
		for _, task := range tasks {
			list.push(task)
		}
		r.pushAll(&list)
		require.Equal(t, capacity, r.len())
		require.Equal(t, 3, list.len)
		require.Equal(t, tasks[:capacity], popAll(r))
		r.pushAll(&list)
		require.Equal(t, tasks[capacity:], popAll(r))
	})
}

func TestABatchIsAFairShareWithinBounds(t *testing.T) {
	for _, c := range []struct{ queued, workers, want int }{
		{0, 4, 0}, {1, 4, 1}, {3, 1, 3}, {10, 4, 4}, {100, 4, 25}, {1000, 4, 64}, {64, 1, 64}, {65, 1, 64}, {5, 100, 4},
	} {
		require.Equal(t, c.want, fairBatch(c.queued, c.workers), "%+v", c)
	}
}

func TestAClosedGlobalQueueTakesNothing(t *testing.T) {
	q := new(globalQueue)
	require.True(t, q.push(new(Task)))
	q.close()
	require.Zero(t, q.len.Load())
	require.False(t, q.push(new(Task)))
	var list taskList
	list.push(new(Task))
	q.pushBatch(&list)
	require.Nil(t, q.pop())
	require.Equal(t, 1, list.len, "what was given is not given back")
	require.Zero(t, q.len.Load())
}
