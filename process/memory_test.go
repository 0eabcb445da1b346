package process_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
)

// An idle state machine costs at most 400 bytes, its place in the table included.
func TestAnIdleProcessIsSmall(t *testing.T) {
	if slow {
		t.Skip("memory has other sizes under the race detector")
	}
	const n = 20000
	s := newSystem(t, 1, process.Config{Grace: -1})
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	start := func() {
		pids := make([]process.PID, n)
		for i := range pids {
			var err error
			pids[i], err = process.Start(s, idler{}, process.Options{})
			require.NoError(t, err)
		}
		for _, pid := range pids {
			eventually(t, "it is idle", func() bool { return s.Status(pid) == process.Idle })
		}
	}
	start() // memory of the workers
	before := heap()
	start()
	each := (heap() - before) / n
	t.Logf("%d bytes", each)
	require.LessOrEqual(t, each, int64(400))
}
