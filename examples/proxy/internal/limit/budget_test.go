package limit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// takeAll takes as many as there are.
func takeAll(s *Seats) (all []*Seat) {
	for seat := s.Take(); seat != nil; seat = s.Take() {
		all = append(all, seat)
	}
	return all
}

func clients(b *Budget) (n int) {
	for b.takeClient() {
		n++
	}
	return n
}

func TestAQuarterOfTheDescriptorsIsKeptForEachKind(t *testing.T) {
	var b Budget
	b.Set(400, true, true)
	s := b.Seats(func() {})
	require.Len(t, takeAll(s), 300)
	require.Equal(t, 50, clients(&b), "two descriptors each")
	require.False(t, b.takeClient())

	b = Budget{}
	b.Set(400, true, true)
	require.Equal(t, 150, clients(&b))
	require.Len(t, takeAll(b.Seats(func() {})), 100)
}

func TestOneKindAloneHasAllDescriptors(t *testing.T) {
	var b Budget
	b.Set(400, true, false)
	require.Equal(t, 200, clients(&b))
	b = Budget{}
	b.Set(400, false, true)
	require.Len(t, takeAll(b.Seats(func() {})), 400)
}

func TestSessionsThatLeaveMakeRoomOnceTheyAreClosed(t *testing.T) {
	var b Budget
	b.Set(64, true, true)
	sheds := 0
	s := b.Seats(func() { sheds++ })
	all := takeAll(s)
	require.True(t, s.Tight())
	for _, seat := range all[:4] {
		seat.Leave()
		seat.Leave()
	}
	require.False(t, s.Tight(), "those make room, and no others have to")
	require.Nil(t, s.Take(), "not yet")
	for _, seat := range all[:4] {
		seat.Close()
		seat.Close()
	}
	require.False(t, s.Tight())
	require.Len(t, takeAll(s), 4)
	require.Zero(t, sheds)
	require.True(t, b.takeClient())
	require.Equal(t, 1, sheds, "the client has sessions given up")
	s.Close()
	require.True(t, b.takeClient())
	require.Equal(t, 1, sheds)
}

func TestWithoutABoundThereIsAlwaysRoom(t *testing.T) {
	var b Budget
	s := b.Seats(func() { t.Error("nothing is short") })
	for range 100 {
		require.NotNil(t, s.Take())
		require.True(t, b.takeClient())
	}
	require.False(t, s.Tight())
}

func TestClientsAreCountedBeforeThereIsABoundOfTheirSource(t *testing.T) {
	d := new(Door)
	a, b := d.Enter(), d.Enter()
	require.True(t, a.Identify(one))
	d.Set(Bounds{PerSource: 1, Local: true})
	require.False(t, b.Identify(one))
	a.Leave()
	require.True(t, b.Identify(one))
}

func TestEachPoolHasDescriptorsOfItsOwnForIdleConnections(t *testing.T) {
	var b Budget
	b.Divide(true, false, 0)
	all := b.all
	for pools := range 8 {
		b.Divide(true, false, pools)
		require.EqualValues(t, all-int64(pools*Idle()), b.all)
	}
	b.Divide(true, false, 1000)
	require.EqualValues(t, all/2, b.all)
}
