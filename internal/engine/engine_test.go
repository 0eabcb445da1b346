package engine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

type told struct{ orders []Order }

func (*told) Deliver(*Driver, *reactor.Completion) {}
func (t *told) Obey(o Order)                       { t.orders = append(t.orders, o) }

// inert ignores completions.
type inert struct{}

func (inert) Deliver(*Driver, *reactor.Completion) {}

func TestATokenNeverNamesASecondTarget(t *testing.T) {
	var table Table
	first := &Endpoint{Target: inert{}}
	table.Add(first)
	require.Same(t, first, table.Get(first.Token))
	table.Remove(first)
	require.Nil(t, table.Get(first.Token))
	second := &Endpoint{Target: inert{}}
	table.Add(second)
	require.Equal(t, first.Token.Index(), second.Token.Index(), "the slot is used again")
	require.Nil(t, table.Get(first.Token))
	require.Same(t, second, table.Get(second.Token))
}

func TestOrdersReachThoseWhoTakeThem(t *testing.T) {
	var g Group
	a, b := &told{}, &told{}
	for _, target := range []Target{a, inert{}, b} {
		g.Table.Add(&Endpoint{Target: target})
	}
	g.TellAll(Drain)
	g.begin(drainServed)
	require.True(t, g.Draining(false))
	require.False(t, g.Draining(true))
	g.begin(drainAll)
	require.True(t, g.Draining(true))
	g.TellAll(Abort)
	require.Equal(t, []Order{Drain, Stage, Stage, Abort}, a.orders)
	require.Equal(t, a.orders, b.orders)
}

func TestAWaitEndsWithWhatItWaitsFor(t *testing.T) {
	ended, failed := make(chan error, 1), errors.New("failed")
	ended <- failed
	err, over := Await(ended, func() bool { return false })
	require.True(t, over)
	require.Equal(t, failed, err)
}

func TestAWaitGivesUpAfterASecondWithoutProgress(t *testing.T) {
	looks, progress := 0, 5
	_, over := Await(make(chan error), func() bool {
		looks++
		return looks <= progress
	})
	require.False(t, over)
	require.Equal(t, progress+int(GiveUp/lookEvery), looks)
}
