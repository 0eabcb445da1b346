package dumptext

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALockThatIsFreedSoonIsTaken(t *testing.T) {
	var text Text
	var mu sync.Mutex
	require.True(t, text.Lock(&mu))
	time.AfterFunc(time.Millisecond, mu.Unlock)
	require.True(t, text.Lock(&mu))
	require.False(t, mu.TryLock())
}

// However many locks are held, the waits of a report for all of them are bounded.
func TestTheWaitsOfAReportAreBounded(t *testing.T) {
	var text Text
	var mu sync.Mutex
	mu.Lock()
	for range 1000 {
		require.False(t, text.Lock(&mu))
	}
	require.Equal(t, mostWaits, text.waited)
	held := make(chan struct{})
	require.False(t, text.Call(func() { <-held }))
	close(held)
}

func TestACallThatReturnsIsWaitedFor(t *testing.T) {
	var text Text
	called := false
	require.True(t, text.Call(func() { called = true }))
	require.True(t, called)
}

func TestLinesAreIndentedAndBlocksAreCut(t *testing.T) {
	var text Text
	text.Linef(1, "%d", 2)
	text.Block(2, "a\nb\nc", 2)
	require.Equal(t, "  2\n    a\n    b\n    ...\n", text.String())
}
