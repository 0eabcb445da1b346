package placement

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

type turns struct{ next, of int }

func (t *turns) NextWorker() int { t.next++; return t.next % t.of }

func source(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }

func TestTheWorkersInTurn(t *testing.T) {
	p := New(RoundRobin, 3, &turns{of: 3})
	var got []int
	for range 6 {
		got = append(got, p.Choose(source(1)))
	}
	require.Equal(t, []int{1, 2, 0, 1, 2, 0}, got)
}

func TestTheWorkerWithTheFewest(t *testing.T) {
	p := New(LeastConnections, 3, &turns{of: 3})
	for range 9 {
		p.Begin(p.Choose(source(1)))
	}
	for w := range 3 {
		require.Equal(t, 3, p.Begun(w), "equals are chosen in turn")
	}
	p.End(1)
	for range 3 {
		require.Equal(t, 1, p.Choose(source(1)))
	}
}

func TestTheSameWorkerForTheSameSource(t *testing.T) {
	p := New(SourceHash, 4, &turns{of: 4})
	used := map[int]bool{}
	for i := range 100 {
		at := p.Choose(source(i))
		require.Equal(t, at, p.Choose(source(i)))
		used[at] = true
	}
	require.Len(t, used, 4, "a hundred sources use all workers")
	require.NotEqual(t, p.Choose(netip.Addr{}), p.Choose(netip.Addr{}), "those without a source go round")
}

func TestTheOnlyWorkerTakesNoTurn(t *testing.T) {
	for _, policy := range []Policy{RoundRobin, LeastConnections, SourceHash} {
		require.Zero(t, New(policy, 1, nil).Choose(source(1)))
	}
}
