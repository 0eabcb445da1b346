package semaphore

import (
	"slices"
	"testing"
)

type owner struct {
	waiter          Waiter
	starts, signals int
}

func (o *owner) Start()  { o.starts++ }
func (o *owner) Signal() { o.signals++ }

func owners(n int) []*owner {
	all := make([]*owner, n)
	for i := range all {
		all[i] = new(owner)
		all[i].waiter.Owner = all[i]
	}
	return all
}

func starts(all []*owner) (n []int) {
	for _, o := range all {
		n = append(n, o.starts)
	}
	return n
}

func TestAReleaseStartsTheNextWaiter(t *testing.T) {
	var sem FIFO
	all := owners(4)
	for _, o := range all {
		sem.Start(&o.waiter, 2)
	}
	if got := starts(all); !slices.Equal(got, []int{1, 1, 0, 0}) || sem.Waiting() != 2 {
		t.Fatalf("have started: %v, %d wait", got, sem.Waiting())
	}
	if !sem.WaitsToStart(&all[2].waiter) || sem.WaitsToStart(&all[0].waiter) {
		t.Error("the wrong ones wait to start")
	}
	sem.Release(&all[1].waiter)
	sem.Release(&all[1].waiter) // it has acquired nothing
	if got := starts(all); !slices.Equal(got, []int{1, 1, 1, 0}) {
		t.Errorf("have started: %v", got)
	}
}

func TestAReleaseSignalsAStartedWaiter(t *testing.T) {
	var sem FIFO
	all := owners(2)
	sem.Start(&all[0].waiter, 1)
	sem.Release(&all[0].waiter)
	sem.Start(&all[1].waiter, 1)
	if sem.Acquire(&all[0].waiter, 1) || sem.Acquired(&all[0].waiter) {
		t.Fatal("two have acquired it")
	}
	sem.CancelStart(&all[0].waiter) // its goroutine calls Cancel
	sem.Release(&all[1].waiter)
	if !sem.Acquired(&all[0].waiter) || all[0].signals != 1 || all[0].starts != 1 || sem.Cancel(&all[0].waiter) {
		t.Errorf("the semaphore is not passed on: %+v", all[0])
	}
}

func TestACanceledWaiterIsSkipped(t *testing.T) {
	var sem FIFO
	all := owners(3)
	for _, o := range all {
		sem.Start(&o.waiter, 1)
	}
	sem.CancelStart(&all[1].waiter)
	sem.Release(&all[0].waiter)
	if got := starts(all); !slices.Equal(got, []int{1, 0, 1}) {
		t.Errorf("have started: %v", got)
	}
	if sem.Acquire(&all[0].waiter, 1) || !sem.Cancel(&all[0].waiter) || sem.Cancel(&all[0].waiter) {
		t.Error("a queued waiter cannot cancel exactly once")
	}
	sem.Release(&all[2].waiter)
	if sem.Acquired(&all[0].waiter) || sem.held != 0 {
		t.Error("a canceled waiter has acquired the semaphore")
	}
}
