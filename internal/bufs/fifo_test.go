package bufs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFIFOKeepsTheOrderAndLetsGo(t *testing.T) {
	var q FIFO[*int]
	next, want := 0, 0
	push := func(n int) {
		for range n {
			v := next
			q.Push(&v)
			next++
		}
	}
	pop := func(n int) {
		for range n {
			require.Equal(t, want, *q.Pop())
			want++
		}
	}
	push(5)
	for range 1000 { // it is never empty
		push(3)
		pop(3)
		require.Equal(t, 5, q.Len())
	}
	require.Less(t, cap(q.items), 64, "it grows with what it holds, not with what has passed")
	for i, p := range q.items[:q.head] {
		require.Nil(t, p, "item %d was popped and is still held", i)
	}
	pop(5)
	require.Zero(t, q.Len())
	push(4)
	pop(1)
	all := q.Take()
	require.Len(t, all, 3)
	require.Equal(t, want, *all[0])
	require.Zero(t, q.Len())
	push(1)
	require.Equal(t, next-1, *q.Pop())
}
