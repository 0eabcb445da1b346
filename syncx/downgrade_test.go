package syncx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

func TestADowngradeKeepsWritersOutAndLetsReadersIn(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		var rw syncx.RWMutex
		require.True(t, rw.TryLock())
		reader := reading(&rw).begin(rt, f, rw.RUnlock)
		eventually(t, "the reader waits", func() bool { return rw.Waiters() == 1 })
		writer := writing(&rw).begin(rt, f, rw.Unlock)
		eventually(t, "the writer waits", func() bool { return rw.Waiters() == 2 })
		late := reading(&rw).begin(rt, f, rw.RUnlock)
		eventually(t, "a reader behind it waits", func() bool { return rw.Waiters() == 3 })
		rw.Downgrade()
		require.NoError(t, reader.result(t))
		require.Equal(t, 2, rw.Waiters(), "the writer, and the reader behind it")
		require.False(t, rw.TryLock())
		rw.RUnlock()
		require.NoError(t, writer.result(t))
		require.NoError(t, late.result(t))
		require.True(t, rw.AtRest())
	})
}

func TestADowngradeOfWhatIsNotLockedForWritingPanics(t *testing.T) {
	var rw syncx.RWMutex
	require.Panics(t, rw.Downgrade)
	require.True(t, rw.TryRLock())
	require.Panics(t, rw.Downgrade)
	rw.RUnlock()
	require.True(t, rw.TryLock())
	rw.Downgrade()
	require.True(t, rw.TryRLock(), "readers share it")
	rw.RUnlock()
	rw.RUnlock()
	require.True(t, rw.AtRest())
}
