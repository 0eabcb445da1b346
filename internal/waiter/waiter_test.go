package waiter_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/waiter"
)

func TestWaitersLeaveInTheirOrder(t *testing.T) {
	var l waiter.List
	require.Nil(t, l.First())
	require.Nil(t, l.Take())
	all := []*waiter.Waiter{waiter.Get(), waiter.Get(), waiter.Get()}
	for _, w := range all {
		require.False(t, w.Listed())
		l.Add(w)
		require.True(t, w.Listed())
	}
	require.Equal(t, 3, l.Len())
	require.True(t, l.Remove(all[1]))
	require.False(t, l.Remove(all[1]), "it is in no list")
	require.Same(t, all[0], l.First())
	require.Same(t, all[0], l.Take())
	require.Same(t, all[2], l.Take())
	require.Zero(t, l.Len())
}

func TestAllOfAListAreWokenWithAnError(t *testing.T) {
	over := errors.New("over")
	for n := range 4 {
		var l waiter.List
		var u waiter.Wakeup
		var all []*waiter.Waiter
		for range n {
			w := waiter.Get()
			all = append(all, w)
			l.Add(w)
		}
		u.AddAll(&l, over)
		require.Zero(t, l.Len())
		for _, w := range all {
			require.Empty(t, w.Woke, "not while the lock may be held")
		}
		u.Wake()
		for _, w := range all {
			<-w.Woke
			require.Equal(t, over, w.Err)
			w.Put()
		}
	}
}

// A waiter that is given back has nothing of its last use.
func TestAWaiterIsEmptyWhenItIsUsedAgain(t *testing.T) {
	for range 100 {
		w := waiter.Get()
		require.Equal(t, 0, len(w.P)+w.N+len(w.Woke))
		require.NoError(t, w.Err)
		w.P, w.N, w.Err = make([]byte, 1), 1, errors.New("x")
		w.Put()
	}
}

// Those that give up meet those that wake: each waiter that is woken has a result, and each
// result a waiter.
func TestWhoGivesUpMeetsWhoWakes(t *testing.T) {
	var mu sync.Mutex
	var l waiter.List
	var done sync.WaitGroup
	const rounds = 5000
	given, got := 0, make([]int, 4)
	for i := range got {
		done.Go(func() {
			for range rounds {
				w := waiter.Get()
				mu.Lock()
				l.Add(w)
				mu.Unlock()
				mu.Lock()
				gaveUp := l.Remove(w)
				mu.Unlock()
				if !gaveUp {
					<-w.Woke
					got[i] += w.N
				}
				w.Put()
			}
		})
	}
	over := make(chan struct{})
	var giving sync.WaitGroup
	giving.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			mu.Lock()
			w := l.Take()
			if w != nil {
				given++
				w.N = 1
			}
			mu.Unlock()
			if w != nil {
				w.Wake()
			}
		}
	})
	done.Wait()
	close(over)
	giving.Wait()
	require.Equal(t, given, got[0]+got[1]+got[2]+got[3])
}
