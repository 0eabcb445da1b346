package conn_test

import (
	"testing"

	"github.com/suiro-go/suiro/internal/testmode"
)

// The same holds if each run of a task is on another worker than the one before: nothing of a
// stream, of its waits and of a splice belongs to the worker that began it. On io_uring, stackful
// tasks stay where they are, and the tasks of connections move.
func TestStreamsWhoseTasksMoveWithEachRun(t *testing.T) {
	testmode.Wander.Store(true)
	defer testmode.Wander.Store(false)
	t.Run("select", TestSelectsBetweenStreamsAndATimerLoseNoByte)
	t.Run("half-closes", TestStreamsAreSplicedWithHalfClosesEachWay)
	t.Run("ends", TestAnEndOfEitherStreamEndsTheSplice)
	t.Run("waits", TestWaitsOfATaskEnd)
	t.Run("closes", TestClosesRaceWithWhatTasksDo)
}
