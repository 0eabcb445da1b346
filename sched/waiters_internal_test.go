package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Tasks that wait for another task, and give up, do not accumulate beside one that goes on waiting.
func TestAJoinHandleDropsWaitersThatHaveEnded(t *testing.T) {
	rt := New(Config{Workers: 1})
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	h := Spawn(rt, FutureFunc[int](func(*Context) (int, error) { return 0, ErrPending }))
	Spawn(rt, Future[int](h))
	for range 1000 {
		_, err := Spawn(rt, Timeout(0, Future[int](h))).Wait(t.Context())
		require.ErrorIs(t, err, ErrTimeout)
	}
	h.cell.mu.Lock()
	defer h.cell.mu.Unlock()
	require.Positive(t, h.cell.waiters.Len())
	require.Less(t, h.cell.waiters.Len(), 20)
}
