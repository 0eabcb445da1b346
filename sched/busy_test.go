package sched_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A worker that is being woken has not begun its tick yet, and its last tick began long ago.
func TestBusyLeavesOutAWorkerThatIsBeingWoken(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1})
	d := fakes[0]
	eventually(t, "the worker waits", func() bool { return d.waitsIn(blocking) })
	waking, woken := make(chan bool), make(chan bool)
	d.events <- func(*sched.Context) (int, error) {
		close(waking)
		<-woken
		return 0, nil
	}
	<-waking
	ran, goOn := make(chan bool), make(chan bool)
	sched.Go(rt, func(*sched.Context) (bool, error) {
		close(ran)
		<-goOn
		return true, nil
	})
	defer close(goOn)
	require.NotEmpty(t, rt.InOneTick(0), "it has been told to wake up, and has not begun")
	again := rt.StillBusy(0, func() {
		close(woken)
		<-ran
	})
	require.Empty(t, again)
	all := rt.Busy(0)
	require.Len(t, all, 1, "it is in a task")
	require.Zero(t, all[0].Worker)
}
