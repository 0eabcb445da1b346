//go:build !explore

package sending_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/sending"
)

func TestOneHoldsTheRight(t *testing.T) {
	var r sending.Right
	require.True(t, r.Try())
	require.Equal(t, sending.Call, r.Holder())
	require.False(t, r.Try())
	require.False(t, r.Take(sending.Operation, false))
	require.Equal(t, sending.Told{Task: true}, r.GiveUp(0, 0), "the task has asked")
	require.Equal(t, sending.Nobody, r.Holder())
	require.True(t, r.IsQueued(), "by the task, which has kept what it would have sent")
	require.False(t, r.Try())
	require.True(t, r.Take(sending.Call, false), "the queue is the task's")
	require.Equal(t, sending.Told{}, r.GiveUp(0, 0))
	require.False(t, r.Drained())
	require.True(t, r.Try())
}

func TestTheBytesAreCounted(t *testing.T) {
	var r sending.Right
	require.True(t, r.Try())
	r.Took(1 << 30)
	r.GiveUp(5, sending.Queued|sending.Failed)
	require.Equal(t, uint64(1<<30+5), r.Sent())
	require.True(t, r.HasFailed())
	require.True(t, r.Take(sending.Operation, true))
	r.Took(1)
	require.Equal(t, sending.Operation, r.Holder(), "a part was sent")
	require.Equal(t, sending.Told{Task: true}, r.GiveUp(2, 0))
	require.Equal(t, uint64(1<<30+8), r.Sent())
	require.True(t, r.HasFailed(), "for good")
}

func TestTheCountOverflowsIntoNothing(t *testing.T) {
	var r sending.Right
	require.True(t, r.Try())
	for range 1 << 26 { // 56 bits in all
		r.Took(1 << 30)
	}
	require.Equal(t, uint64(0), r.Sent(), "modulo 2^56")
	require.Equal(t, sending.Call, r.Holder())
}

func TestWhoQueuesWakesTheTaskUnlessAnEndDoes(t *testing.T) {
	for _, c := range []struct {
		as   sending.Holder
		wake bool
	}{{sending.Nobody, true}, {sending.Call, true}, {sending.Operation, false}, {sending.Room, false}} {
		var r sending.Right
		if c.as != sending.Nobody {
			require.True(t, r.Take(c.as, false))
		}
		require.Equal(t, c.wake, r.Queue(sending.Waits), "%v", c.as)
		require.Equal(t, c.wake, r.Queue(0), "again, %v", c.as)
		require.Equal(t, sending.Told{Task: !c.wake, Waiter: true}, r.GiveUp(0, 0), "%v", c.as)
	}
}

func TestADrainedQueueTellsWhomNoHolderWill(t *testing.T) {
	var r sending.Right
	r.Queue(sending.Waits)
	require.True(t, r.Drained())
	require.False(t, r.Drained())
	r.Queue(sending.Waits)
	require.True(t, r.Take(sending.Operation, false))
	require.False(t, r.Drained(), "the operation's end tells")
	require.False(t, r.IsQueued())
	require.Equal(t, sending.Told{Waiter: true}, r.GiveUp(0, 0))
}

func TestAWishToHearOfTheEnd(t *testing.T) {
	var r sending.Right
	require.False(t, r.Want())
	require.True(t, r.Take(sending.Call, false))
	require.True(t, r.Want())
	require.True(t, r.Want())
	require.True(t, r.Tells())
	require.Equal(t, sending.Told{Task: true}, r.GiveUp(0, 0))
	require.True(t, r.Take(sending.Operation, true))
	require.Equal(t, sending.Told{Task: true}, r.GiveUp(0, 0))
}

func TestABarKeepsOthersOut(t *testing.T) {
	var r sending.Right
	require.True(t, r.Try())
	require.False(t, r.Bar(), "somebody sends")
	require.Equal(t, sending.Told{Task: true}, r.GiveUp(0, 0))
	require.True(t, r.Bar())
	require.False(t, r.Try())
	require.True(t, r.Take(sending.Call, false), "the task itself")
	r.GiveUp(0, 0)
	require.False(t, r.Try(), "for good")
}

func TestAWaitForRoomKeepsTheQueue(t *testing.T) {
	var r sending.Right
	r.Queue(0)
	require.True(t, r.Take(sending.Call, false))
	r.Pass(sending.Room)
	require.Equal(t, sending.Room, r.Holder())
	require.False(t, r.Take(sending.Call, false))
	r.RoomCame()
	require.Equal(t, sending.Nobody, r.Holder())
	require.False(t, r.Try(), "the queue comes first")
}

func TestNobodyTakesTheRightAfterTheEnd(t *testing.T) {
	var r sending.Right
	require.True(t, r.Try())
	held, first := r.Close()
	require.Equal(t, sending.Call, held)
	require.True(t, first)
	require.Equal(t, sending.Told{Task: true}, r.GiveUp(3, sending.Queued))
	held, first = r.Close()
	require.Equal(t, sending.Nobody, held)
	require.False(t, first)
	require.False(t, r.Try())
	require.False(t, r.Take(sending.Operation, false))
	require.Equal(t, uint64(3), r.Sent())
}
