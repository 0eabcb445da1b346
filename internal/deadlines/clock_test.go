package deadlines

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestNextIsTheEarliestDeadline(t *testing.T) {
	var k Clock
	require.Zero(t, k.Next(), "there is none")
	for what := range kinds {
		k.Set(what, time.Hour)
	}
	for what := range kinds {
		k.Set(what, 5*ms)
		require.Equal(t, 5*ms, k.Next(), "kind %d", what)
		k.Set(what, 0)
	}
	require.Zero(t, k.Next())
}

func TestDueIsWhatHasPassedInOrderAndOnce(t *testing.T) {
	var k Clock
	k.Set(Write, 10*ms)
	k.Set(Read, 10*ms)
	k.Set(Connect, 11*ms)
	require.Empty(t, slices.Collect(k.Due(10*ms-1)))
	require.Equal(t, []Kind{Read, Write}, slices.Collect(k.Due(10*ms)))
	require.Empty(t, slices.Collect(k.Due(10*ms)), "they are taken back")
	require.Equal(t, 11*ms, k.Next())
}

// A handler that is called for one deadline may move another one, which is then not due.
func TestDueSeesWhatChangesMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		change func(k *Clock)
		want   []Kind
	}{
		"nothing":     {func(*Clock) {}, []Kind{Read, Write, Idle}},
		"a later one": {func(k *Clock) { k.Set(Write, time.Hour) }, []Kind{Read, Idle}},
		"all":         {(*Clock).Reset, []Kind{Read}},
		"bytes":       {func(k *Clock) { k.Came(10 * ms) }, []Kind{Read, Write}},
		"itself":      {func(k *Clock) { k.Set(Read, 1) }, []Kind{Read, Write, Idle}},
	} {
		t.Run(name, func(t *testing.T) {
			var k Clock
			k.Set(Read, ms)
			k.Set(Write, ms)
			k.SetIdle(10*ms, 0, Outflow{})
			var got []Kind
			for what := range k.Due(10 * ms) {
				if got = append(got, what); what == Read {
					c.change(&k)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhoStopsLeavesTheRestDue(t *testing.T) {
	var k Clock
	k.Set(Read, ms)
	k.Set(Write, ms)
	for range k.Due(ms) {
		break
	}
	require.Equal(t, []Kind{Write}, slices.Collect(k.Due(ms)))
}

func TestOutflowMoves(t *testing.T) {
	before := Outflow{Taken: 100, Kept: 50}
	for name, c := range map[string]struct {
		now  Outflow
		want bool
	}{
		"nothing":                          {before, false},
		"the kernel took more":             {Outflow{101, 51}, true},
		"the peer took some":               {Outflow{100, 49}, true},
		"the kernel has more than it said": {Outflow{100, 60}, false},
	} {
		require.Equal(t, c.want, c.now.MovedSince(before), name)
	}
}

func TestIdleCountsFromWhatLastCame(t *testing.T) {
	var k Clock
	k.Came(ms)
	require.False(t, k.Idles())
	require.Zero(t, k.Next(), "nothing bounds it")
	k.SetIdle(10*ms, 5*ms, Outflow{})
	require.True(t, k.Idles())
	require.Equal(t, 15*ms, k.At(Idle))
	k.Came(7 * ms)
	require.Equal(t, 17*ms, k.At(Idle))
	k.SetIdle(0, 8*ms, Outflow{})
	require.Zero(t, k.Next())
	require.False(t, k.Idles())
	k.SetIdle(math.MaxInt64, 8*ms, Outflow{})
	require.Equal(t, time.Duration(math.MaxInt64), k.At(Idle), "never")
}

func TestAPeerThatTakesSomethingIsNotInactive(t *testing.T) {
	var k Clock
	k.SetIdle(10*ms, 0, Outflow{5, 5})
	require.Equal(t, []Kind{Idle}, slices.Collect(k.Due(10*ms)))
	require.False(t, k.Inactive(10*ms, Outflow{5, 4}))
	require.Equal(t, 20*ms, k.At(Idle), "another period")
	require.Equal(t, []Kind{Idle}, slices.Collect(k.Due(20*ms)))
	require.True(t, k.Inactive(20*ms, Outflow{5, 4}), "since then it took nothing")
}

func TestAStallEndsWhenThePeerTakesNothingForTheLimit(t *testing.T) {
	var k Clock
	require.False(t, k.Stalls())
	k.Unsent(0, 10*ms, Outflow{5, 5}) // a virtual clock begins with 0
	require.True(t, k.Stalls())
	require.Equal(t, []Kind{Stall}, slices.Collect(k.Due(10*ms)))
	require.False(t, k.Stuck(10*ms, 10*ms, Outflow{6, 5}))
	require.Equal(t, 20*ms, k.At(Stall))
	require.Equal(t, []Kind{Stall}, slices.Collect(k.Due(20*ms)))
	require.True(t, k.Stuck(20*ms, 10*ms, Outflow{6, 5}))
	require.False(t, k.Stalls())
}

func TestResetTakesBackWhatAHandlerSets(t *testing.T) {
	var k Clock
	for what := range kinds {
		k.Set(what, ms)
	}
	k.SetIdle(ms, 0, Outflow{})
	k.Reset()
	require.False(t, k.Idles())
	require.Equal(t, []Kind{Connect, Attempt, Linger, Look, Stall}, slices.Collect(k.Due(ms)))
}
