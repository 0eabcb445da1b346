package leaks

import (
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAGoroutineThatNothingCanWakeIsFound(t *testing.T) {
	if pprof.Lookup("goroutineleak") == nil {
		t.Skip("this build has no profile of leaked goroutines: make lane NAME=leaks")
	}
	require.Empty(t, profile())
	begun := make(chan bool)
	forgotten := make(chan bool)
	go func() {
		begun <- true
		<-forgotten
	}()
	<-begun
	require.Empty(t, profile(), "somebody may send")
	runtime.KeepAlive(forgotten)
	require.Contains(t, profile(), "TestAGoroutineThatNothingCanWakeIsFound")
}
