package list_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/list"
)

func drain(l *list.List[int]) (all []int) {
	for n := l.Front(); n != nil; n = l.Front() {
		all = append(all, n.Value)
		l.Remove(n)
	}
	return all
}

func TestFirstComeFirst(t *testing.T) {
	var l list.List[int]
	require.Nil(t, l.Front())
	for i := range 3 {
		l.PushBack(&list.Node[int]{Value: i})
	}
	require.Equal(t, 3, l.Len())
	require.Equal(t, []int{0, 1, 2}, drain(&l))
	require.Zero(t, l.Len())
}

func TestANodeLeavesFromAnywhere(t *testing.T) {
	for leaver := range 3 {
		var l list.List[int]
		nodes := [3]list.Node[int]{{Value: 0}, {Value: 1}, {Value: 2}}
		for i := range nodes {
			l.PushBack(&nodes[i])
		}
		require.True(t, l.Remove(&nodes[leaver]))
		require.False(t, nodes[leaver].Listed())
		require.False(t, l.Remove(&nodes[leaver]), "it is in no list any more")
		require.NotContains(t, drain(&l), leaver)
	}
}

func TestAListMovesBehindAnother(t *testing.T) {
	for before := range 3 {
		var l, other list.List[int]
		l.PushBackList(&other)
		var want []int
		for i := range before {
			l.PushBack(&list.Node[int]{Value: i})
			want = append(want, i)
		}
		moved := [3]list.Node[int]{{Value: 7}, {Value: 8}, {Value: 9}}
		for i := range moved {
			other.PushBack(&moved[i])
		}
		l.PushBackList(&other)
		require.Zero(t, other.Len())
		require.Nil(t, other.Front())
		require.Equal(t, before+3, l.Len())
		require.True(t, l.Remove(&moved[1]), "it leaves the list that it has come to")
		other.PushBack(&moved[1])
		require.Equal(t, []int{8}, drain(&other))
		require.Equal(t, append(want, 7, 9), drain(&l))
	}
}

func TestANodeIsInOneListOnce(t *testing.T) {
	var l list.List[int]
	n := &list.Node[int]{Value: 7}
	l.PushBack(n)
	require.Panics(t, func() { l.PushBack(n) })
	l.Remove(n)
	l.PushBack(n)
	require.Equal(t, []int{7}, drain(&l))
}
