package blocking_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

// heavy returns a function that a test can see the end of.
func heavy(freed chan struct{}) func() (*[1 << 10]int, error) {
	v := new([1 << 10]int)
	runtime.AddCleanup(v, func(c chan struct{}) { close(c) }, freed)
	return func() (*[1 << 10]int, error) { return v, nil }
}

func TestAHandleOfACallThatIsNotMadeDoesNotKeepItsFunction(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1})
	occupies, _ := occupy(t, p)
	aborted := make(chan struct{})
	h := blocking.Submit(p, heavy(aborted))
	require.True(t, h.Abort())
	schedtest.IsFreed(t, "an aborted call", aborted)

	canceled := make(chan struct{})
	c := blocking.DoFuture(p, heavy(canceled))
	c.Cancel()
	schedtest.IsFreed(t, "a canceled future", canceled)

	dropped := make(chan struct{})
	queued := blocking.Submit(p, heavy(dropped))
	require.NoError(t, p.Close())
	schedtest.IsFreed(t, "a call in the queue of a pool that was closed", dropped)

	refused := make(chan struct{})
	late := blocking.Submit(p, heavy(refused))
	schedtest.IsFreed(t, "a refused call", refused)
	occupies.release()
	runtime.KeepAlive([]any{h, c, queued, late})
}

// A future of calls can be kept for the next call.
func TestACallDoesNotKeepTheResultThatItHasReturned(t *testing.T) {
	p := newPool(t, blocking.Config{})
	freed := make(chan struct{})
	c := blocking.DoFuture(p, func() (*[1 << 10]int, error) {
		v := new([1 << 10]int)
		runtime.AddCleanup(v, func(c chan struct{}) { close(c) }, freed)
		return v, nil
	})
	_, err := sched.Await(context.Background(), c)
	require.NoError(t, err)
	schedtest.IsFreed(t, "the result", freed)
	runtime.KeepAlive(c)
}
