package wakers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/wakers"
)

// A waker is a task's number. ended has the tasks that have ended, and checks counts the questions.
type waker struct {
	of *tasks
	n  int
}

type tasks struct {
	ended  map[int]bool
	woken  []int
	checks int
}

func (w waker) Wake() {
	if w.of != nil {
		w.of.woken = append(w.of.woken, w.n)
	}
}

func (w waker) Alive() bool {
	if w.of == nil {
		return false
	}
	w.of.checks++
	return !w.of.ended[w.n]
}

func TestEachWakerIsWokenOnceInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 8, 9, 100} {
		all, want := &tasks{}, []int(nil)
		var s wakers.Set[waker]
		for i := range n {
			want = append(want, i)
			for range 3 {
				s.Add(waker{all, i})
			}
			s.Add(waker{all, i / 2})
		}
		require.Equal(t, n, s.Len())
		s.Each(waker.Wake)
		require.Equal(t, want, all.woken)
	}
}

// Tasks that have ended without a word take neither memory nor time.
func TestEndedTasksAreDropped(t *testing.T) {
	const live, rounds = 20, 10_000
	all := &tasks{ended: map[int]bool{}}
	var s wakers.Set[waker]
	for i := range live {
		s.Add(waker{all, i})
	}
	for i := live; i < rounds; i++ {
		s.Add(waker{all, i})
		all.ended[i] = true
		require.LessOrEqual(t, s.Len(), 2*live+10)
	}
	require.Less(t, all.checks, 4*rounds)
	s.Each(func(w waker) {
		if !all.ended[w.n] {
			w.Wake()
		}
	})
	require.Len(t, all.woken, live)
}

// The time to add does not grow with the number of waiters.
func TestManyWaitersCostAConstantTimeEach(t *testing.T) {
	const n = 30_000
	all := &tasks{}
	var s wakers.Set[waker]
	for i := range n {
		s.Add(waker{all, i})
	}
	require.Less(t, all.checks, 4*n)
	require.Equal(t, n, s.Len())
}
