//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

var patience = schedtest.Patience

// slow says that tests should repeat less, because they run under the race detector. There
// sync.Pool also drops items at random, so tests cannot count allocations.
var slow bool

// rounds scales the number of repetitions of a stress test.
func rounds(n int) int {
	if slow || testing.Short() {
		return n / 20
	}
	return n
}

func TestMain(m *testing.M) { schedtest.EndlessMain(m, "sched.(*worker)") }

func stacks() string { return schedtest.Stacks() }

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	schedtest.Eventually(t, what, cond)
}

func start(t testing.TB, workers int) *sched.Runtime {
	t.Helper()
	return schedtest.Start(t, sched.Config{Workers: workers})
}

// A crew is the tasks, goroutines, or both, that run a test's work.
type crew struct {
	t     testing.TB
	rt    *sched.Runtime
	kind  string
	count int
}

// onEach runs a test with each kind of crew, on runtimes with few and with many workers.
func onEach(t *testing.T, test func(t *testing.T, c *crew)) {
	for _, workers := range []int{1, 2, 4} {
		for _, kind := range []string{"tasks", "derived contexts", "goroutines", "all"} {
			t.Run(fmt.Sprintf("%s/%d", kind, workers), func(t *testing.T) {
				test(t, &crew{t: t, rt: start(t, workers), kind: kind})
			})
		}
	}
}

// A job is the work of one member of a crew.
type job struct {
	t     testing.TB
	ended chan struct{}
	err   error
	abort func()
}

// do starts work on the next member of the crew. Only the test's goroutine calls it.
func (c *crew) do(work func(ctx context.Context) error) *job {
	j := &job{t: c.t, ended: make(chan struct{})}
	c.count++
	if c.kind == "goroutines" || c.kind == "all" && c.count%3 == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		j.abort = cancel
		go func() {
			defer close(j.ended)
			defer cancel()
			j.err = work(ctx)
		}()
		return j
	}
	derived := c.kind == "derived contexts" || c.kind == "all" && c.count%3 == 1
	h := sched.Go(c.rt, func(cx *sched.Context) (struct{}, error) {
		ctx := context.Context(cx)
		if derived {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(cx)
			defer cancel()
		}
		return struct{}{}, work(ctx)
	})
	j.abort = func() { h.Abort() }
	go func() {
		defer close(j.ended)
		_, j.err = h.Wait(context.Background())
	}()
	return j
}

// wait waits for the job, and returns its error.
func (j *job) wait() error {
	j.t.Helper()
	select {
	case <-j.ended:
		return j.err
	case <-time.After(patience):
		j.t.Fatalf("a job is not done within %v\n\n%s", patience, stacks())
		panic("unreachable")
	}
}

func allDone(t testing.TB, jobs []*job) {
	t.Helper()
	for _, j := range jobs {
		require.NoError(t, j.wait())
	}
}

// A receiver has the common methods of several kinds of handles.
type receiver[T any] interface {
	Recv(ctx context.Context) (T, error)
	TryRecv() (T, error)
}

// run lets one member of the crew work, and waits for it.
func (c *crew) run(work func(ctx context.Context)) {
	c.t.Helper()
	require.NoError(c.t, c.do(func(ctx context.Context) error { work(ctx); return nil }).wait())
}

// receives lets one member of the crew receive a value.
func receives[T any](c *crew, r receiver[T]) (v T, err error) {
	c.t.Helper()
	c.run(func(ctx context.Context) { v, err = r.Recv(ctx) })
	return v, err
}
