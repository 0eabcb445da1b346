package sched_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// finished is a future that is done.
func finished[T any](v T, err error) sched.Future[T] {
	return sched.FutureFunc[T](func(*sched.Context) (T, error) { return v, err })
}

// endless is a future that is never done. It counts its cancels.
func endless[T any](cancels *int) sched.Future[T] {
	pending := sched.FutureFunc[T](func(*sched.Context) (v T, err error) { return v, sched.ErrPending })
	return pending.WithCancel(func() { *cancels++ })
}

func TestSelect2HasTheValueOfTheFirst(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var cancels int
		first, err := do(t, rt, sched.Select2(finished(7, nil), endless[string](&cancels)))
		require.NoError(t, err)
		require.Equal(t, sched.Selected2[int, string]{Index: 0, A: 7}, first)
		first, err = do(t, rt, sched.Select2(endless[int](&cancels), finished("b", nil)))
		require.NoError(t, err)
		require.Equal(t, sched.Selected2[int, string]{Index: 1, B: "b"}, first)
		require.Equal(t, 2, cancels, "the other one is abandoned")
		failure := errors.New("failed")
		first, err = do(t, rt, sched.Select2[int, string](finished(0, failure), nil))
		require.NoError(t, err)
		require.Equal(t, sched.Selected2[int, string]{Index: 0, Err: failure}, first)
		_, err = do(t, rt, sched.Select2[int, string](nil, nil))
		require.ErrorIs(t, err, sched.ErrEmpty)
	})
}

func TestSelect3HasTheValueOfTheFirst(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var cancels int
		a, b, c := endless[int](&cancels), endless[string](&cancels), endless[error](&cancels)
		first, err := do(t, rt, sched.Select3(finished(7, nil), b, c))
		require.NoError(t, err)
		require.Equal(t, sched.Selected3[int, string, error]{Index: 0, A: 7}, first)
		first, err = do(t, rt, sched.Select3(a, finished("b", nil), c))
		require.NoError(t, err)
		require.Equal(t, sched.Selected3[int, string, error]{Index: 1, B: "b"}, first)
		first, err = do(t, rt, sched.Select3(a, b, finished[error](nil, nil)))
		require.NoError(t, err)
		require.Equal(t, sched.Selected3[int, string, error]{Index: 2}, first)
		require.Equal(t, 6, cancels)
	})
}

// An abandoned Select abandons its futures.
func TestAnAbandonedSelect2AbandonsBoth(t *testing.T) {
	var cancels int
	f := sched.Select2(endless[int](&cancels), endless[string](&cancels))
	f.(sched.Canceler).Cancel()
	require.Equal(t, 2, cancels)
}

// A lock that a Select2 has taken for nobody is released, as that of a Select is.
func TestAResultOfSelect2ThatNobodyTakesIsReleased(t *testing.T) {
	var releases int
	r := &counted{&releases}
	sched.Selected2[*counted, int]{Index: 0, A: r}.Release()
	sched.Selected2[*counted, int]{Index: 1, A: r}.Release()
	require.Equal(t, 1, releases, "that of the first only")
	sched.Selected3[int, int, *counted]{Index: 2, C: r}.Release()
	require.Equal(t, 2, releases)
}

type counted struct{ n *int }

func (c *counted) Release() { *c.n++ }

func TestAFunctionWithoutACancelPanics(t *testing.T) {
	require.Panics(t, func() { sched.FutureFunc[int](nil).WithCancel(func() {}) })
	require.Panics(t, func() { finished(1, nil).(sched.FutureFunc[int]).WithCancel(nil) })
}
