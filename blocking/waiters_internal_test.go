package blocking

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// Tasks that wait for a call, and give up, do not accumulate beside one that goes on waiting.
func TestAHandleDropsWaitersThatHaveEnded(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	p := New(Config{})
	end := make(chan struct{})
	h := Submit(p, func() (int, error) {
		<-end
		return 7, nil
	})
	patient := sched.Spawn(rt, sched.Future[int](h))
	for range 1000 {
		_, err := sched.Spawn(rt, sched.Timeout(0, sched.Future[int](h))).Wait(t.Context())
		require.ErrorIs(t, err, sched.ErrTimeout)
	}
	p.mu.Lock()
	n := h.waiters.Len()
	p.mu.Unlock()
	require.Less(t, n, 20)
	close(end)
	v, err := patient.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, v)
	require.NoError(t, p.Shutdown(t.Context()))
}
