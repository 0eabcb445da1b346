package readiness

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A counter is a Waker that counts.
type counter struct{ n *atomic.Int32 }

func newCounter() counter { return counter{new(atomic.Int32)} }

func (c counter) Wake() { c.n.Add(1) }

func TestAnEdgeWakesTheWaiterOnce(t *testing.T) {
	var life Life
	var half Half[counter]
	me := newCounter()
	poll := func() bool {
		_, done, err := half.Poll(&life, 0, me)
		require.NoError(t, err)
		return done
	}
	require.False(t, poll())
	require.False(t, poll(), "polled again by another event")
	half.Signal()
	require.EqualValues(t, 1, me.n.Load())
	require.True(t, half.Ready())
	require.True(t, poll(), "an edge since the call")
	half.Signal()
	require.EqualValues(t, 1, me.n.Load(), "nobody waits")
	half.Clear()
	require.False(t, half.Ready())
	require.False(t, poll())
	half.Forget()
	half.Signal()
	require.EqualValues(t, 1, me.n.Load(), "it has given up")
	require.True(t, poll(), "an edge outlasts a waiter")
}

func TestAnotherWaiterIsWoken(t *testing.T) {
	var life Life
	var half Half[counter]
	one, two := newCounter(), newCounter()
	_, done, _ := half.Poll(&life, 0, one)
	require.False(t, done)
	_, done, _ = half.Poll(&life, 0, two)
	require.False(t, done)
	half.Signal()
	require.EqualValues(t, 0, one.n.Load())
	require.EqualValues(t, 1, two.n.Load())
}

func TestADeadlineIsTheWaitersToWaitFor(t *testing.T) {
	var life Life
	var half Half[counter]
	me := newCounter()
	half.SetDeadline(10)
	half.Clear()
	deadline, done, err := half.Poll(&life, 9, me)
	require.NoError(t, err)
	require.False(t, done)
	require.EqualValues(t, 10, deadline)
	require.False(t, half.Late(9))
	require.True(t, half.Late(10))
	half.SetDeadline(5)
	require.EqualValues(t, 1, me.n.Load(), "a waiter looks at a new deadline")
	_, done, err = half.Poll(&life, 5, me)
	require.True(t, done)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	half.SetDeadline(0)
	half.Clear()
	_, done, err = half.Poll(&life, 11, me)
	require.NoError(t, err)
	require.False(t, done)
}

func TestALifeEndsWithItsLastUser(t *testing.T) {
	var life Life
	require.NoError(t, life.Enter(In))
	require.NoError(t, life.Enter(Out), "the directions are apart")
	require.ErrorIs(t, life.Enter(In), ErrInUse)
	require.NoError(t, life.Hold())
	first, last := life.Close()
	require.True(t, first)
	require.False(t, last)
	first, last = life.Close()
	require.False(t, first)
	require.False(t, last)
	require.ErrorIs(t, life.Enter(In), net.ErrClosed)
	require.ErrorIs(t, life.Hold(), net.ErrClosed)
	require.False(t, life.Leave(Out))
	require.False(t, life.Release())
	require.True(t, life.Leave(In))

	var unused Life
	first, last = unused.Close()
	require.True(t, first && last)
	first, last = unused.Close()
	require.False(t, first || last)

	var left Life
	require.NoError(t, left.Enter(Out))
	require.False(t, left.Leave(Out), "it is not closed")
	require.NoError(t, left.Enter(Out), "it can be entered again")
}

func TestAWaitOfAClosedDescriptorEnds(t *testing.T) {
	var life Life
	var half Half[counter]
	_, _ = life.Close()
	_, done, err := half.Poll(&life, 0, newCounter())
	require.True(t, done)
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestAWaitAllocatesNothingButForANewWaiter(t *testing.T) {
	var life Life
	var half Half[counter]
	me := newCounter()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		half.Clear()
		_, _, _ = half.Poll(&life, time.Second, me)
		half.Signal()
	}))
}

// Wakers of waiters that follow each other are read while others are stored: for the race detector.
func TestSignalsBesideManyWaiters(t *testing.T) {
	var life Life
	var half Half[counter]
	var stop atomic.Bool
	var signals sync.WaitGroup
	for range 2 {
		signals.Go(func() {
			for !stop.Load() {
				half.Signal()
			}
		})
	}
	for range 10_000 {
		me := newCounter()
		half.Clear()
		if _, done, _ := half.Poll(&life, 0, me); !done {
			half.Forget()
		}
	}
	stop.Store(true)
	signals.Wait()
}
