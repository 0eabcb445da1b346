package readiness

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A counter is a Caller that counts how often it is woken.
type counter struct{ n *int }

func (c counter) Wake(none) { *c.n++ }

// none is the place where a counter is woken.
type none struct{}

type (
	testSide = Side[counter, none]
	testWait = Wait[counter, none]
)

func newWait(takes bool) *testWait { return &testWait{Caller: counter{new(int)}, Takes: takes} }

func woken(w *testWait) int { return *w.Caller.n }

// try makes an attempt that finds nothing, and registers the call.
func try(s *testSide, w *testWait) {
	w.Attempt = s.Try()
	s.Add(w, false, none{})
}

// resumed takes the result of a call that was woken.
func resumed(t *testing.T, w *testWait) error {
	waits, err := w.Resume()
	require.False(t, waits, "it was not woken")
	return err
}

func TestAnEdgeWakesOneThatTakesAndAllOthers(t *testing.T) {
	var s testSide
	first, second, other := newWait(true), newWait(true), newWait(false)
	for _, w := range []*testWait{first, second, other} {
		try(&s, w)
		require.True(t, w.Registered())
		waits, err := w.Resume()
		require.True(t, waits)
		require.NoError(t, err)
	}
	s.Edge(none{})
	require.Equal(t, []int{1, 0, 1}, []int{woken(first), woken(second), woken(other)})
	require.NoError(t, resumed(t, first))
	require.NoError(t, resumed(t, other))
	require.True(t, first.HasTurn())
	require.False(t, other.HasTurn(), "it takes nothing")
	require.False(t, first.Registered())
	require.True(t, s.Pass(first), "the second one waits")
	require.False(t, s.Pass(first), "it has no turn any more")
	require.True(t, s.Waits())
	s.Next(none{})
	require.Equal(t, 1, woken(second))
	require.False(t, s.Waits())
}

func TestAnEdgeSinceTheAttemptWakesAtOnce(t *testing.T) {
	var s testSide
	w := newWait(true)
	w.Attempt = s.Try()
	s.Edge(none{})
	s.Add(w, false, none{})
	require.Equal(t, 1, woken(w))
	require.NoError(t, resumed(t, w))

	s.Add(w, false, none{})
	require.Equal(t, 1, woken(w), "it has not tried, and the owner has asked the kernel")
	require.True(t, s.Remove(w))
	require.False(t, w.Registered())
	s.Add(w, true, none{})
	require.Equal(t, 2, woken(w), "the kernel says that it is ready")
	require.False(t, s.Remove(w), "it is woken")
}

func TestACallThatGivesUpPassesItsTurnOn(t *testing.T) {
	for name, give := range map[string]func(*testSide, *testWait){
		"woken":         func(*testSide, *testWait) {},
		"with the turn": func(_ *testSide, w *testWait) { _, _ = w.Resume() },
	} {
		t.Run(name, func(t *testing.T) {
			var s testSide
			first, second := newWait(true), newWait(true)
			try(&s, first)
			try(&s, second)
			s.Edge(none{})
			give(&s, first)
			s.Drop(first, none{})
			require.Equal(t, 1, woken(second))
			require.False(t, first.Registered())
			require.False(t, first.HasTurn())
		})
	}
}

func TestACallThatGivesUpWithoutATurnWakesNobody(t *testing.T) {
	var s testSide
	first, second := newWait(true), newWait(true)
	try(&s, first)
	try(&s, second)
	s.Drop(first, none{})
	require.Equal(t, 0, woken(second))
	s.Edge(none{})
	require.Equal(t, []int{0, 1}, []int{woken(first), woken(second)})
}

func TestAParkedCallHasNoEdges(t *testing.T) {
	var s testSide
	w := newWait(false)
	s.Park(w)
	s.Edge(none{})
	require.Equal(t, 0, woken(w))
	require.False(t, s.Waits())
	s.Expire(none{})
	require.Equal(t, 1, woken(w))
	require.ErrorIs(t, resumed(t, w), os.ErrDeadlineExceeded)
	s.Park(w)
	s.Drop(w, none{})
	s.Fail(net.ErrClosed, none{})
	require.Equal(t, 1, woken(w), "it has given up")
}

func TestADeadlineFailsCallsUntilItMoves(t *testing.T) {
	var life Life
	var s testSide
	taker, other := newWait(true), newWait(false)
	try(&s, taker)
	try(&s, other)
	require.NoError(t, s.Callable(&life))
	s.Expire(none{})
	for _, w := range []*testWait{taker, other} {
		require.Equal(t, 1, woken(w))
		require.ErrorIs(t, resumed(t, w), os.ErrDeadlineExceeded)
		require.False(t, w.HasTurn(), "a call that fails takes nothing")
	}
	require.True(t, s.Late())
	require.ErrorIs(t, s.Callable(&life), os.ErrDeadlineExceeded)
	s.Extend()
	require.NoError(t, s.Callable(&life))
	require.True(t, life.Close())
	require.ErrorIs(t, s.Callable(&life), net.ErrClosed)
}

func TestTheLastUserClosesTheDescriptor(t *testing.T) {
	var life Life
	require.True(t, life.Hold())
	require.True(t, life.Hold())
	require.False(t, life.Release())
	require.False(t, life.Closed())
	require.True(t, life.Close())
	require.False(t, life.Close(), "the second time")
	require.True(t, life.Closed())
	require.False(t, life.Hold())
	require.False(t, life.Release(), "the call is under way")
	require.True(t, life.Release())
}

func TestACloseWithoutUsersIsTheLast(t *testing.T) {
	var life Life
	require.True(t, life.Close())
	require.True(t, life.Release())
}

func TestWaitingAllocatesNothing(t *testing.T) {
	var s testSide
	w := newWait(true)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		try(&s, w)
		s.Edge(none{})
		_, _ = w.Resume()
		_ = s.Pass(w)
		try(&s, w)
		s.Drop(w, none{})
	}))
}
