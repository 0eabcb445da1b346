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

const patience = schedtest.Patience

// slow says that tests have to do with fewer rounds: under the race detector, where
// besides sync.Pool drops things at random, so that nothing can be said of allocations.
var slow bool

// rounds scales what a stress test repeats.
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

// A crew is who does a test's work: tasks, goroutines, or some of each.
type crew struct {
	t     testing.TB
	rt    *sched.Runtime
	kind  string
	count int
}

// onEach runs a test with each kind of crew on runtimes with few workers and many.
func onEach(t *testing.T, test func(t *testing.T, c *crew)) {
	for _, workers := range []int{1, 2, 4} {
		for _, kind := range []string{"tasks", "goroutines", "both"} {
			t.Run(fmt.Sprintf("%s/%d", kind, workers), func(t *testing.T) {
				test(t, &crew{t: t, rt: start(t, workers), kind: kind})
			})
		}
	}
}

// An env is where one of a crew works: cx if it is a task, ctx if it is a goroutine.
type env struct {
	cx  *sched.Context
	ctx context.Context
}

// A job is what one of a crew does.
type job struct {
	t     testing.TB
	ended chan struct{}
	err   error
	abort func()
}

// do has the next of the crew work; only the test's goroutine calls it.
func (c *crew) do(work func(e env) error) *job {
	j := &job{t: c.t, ended: make(chan struct{})}
	c.count++
	if c.kind == "goroutines" || c.kind == "both" && c.count%2 == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		j.abort = cancel
		go func() {
			defer close(j.ended)
			defer cancel()
			j.err = work(env{ctx: ctx})
		}()
		return j
	}
	h := sched.Go(c.rt, func(cx *sched.Context) (struct{}, error) { return struct{}{}, work(env{cx: cx}) })
	j.abort = func() { h.Abort() }
	go func() {
		defer close(j.ended)
		_, j.err = h.Wait(context.Background())
	}()
	return j
}

// wait is the job's error when it is done.
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

// await is sched.Await in a task and sched.Wait elsewhere.
func await[T any](e env, f sched.Future[T]) (T, error) {
	if e.cx != nil {
		return sched.Await(e.cx, f)
	}
	return sched.Wait(e.ctx, f)
}

// A sender and a receiver are what handles of several kinds have in common.
type sender[T any] interface {
	Send(cx *sched.Context, v T) error
}

type contextSender[T any] interface {
	SendContext(ctx context.Context, v T) error
}

type receiver[T any] interface {
	Recv(cx *sched.Context) (T, error)
	RecvContext(ctx context.Context) (T, error)
	TryRecv() (T, error)
}

func send[T any](e env, s sender[T], v T) error {
	if c, waits := s.(contextSender[T]); waits && e.cx == nil {
		return c.SendContext(e.ctx, v)
	}
	return s.Send(e.cx, v)
}

func recv[T any](e env, r receiver[T]) (T, error) {
	if e.cx != nil {
		return r.Recv(e.cx)
	}
	return r.RecvContext(e.ctx)
}

// run has one of the crew work, and waits for it.
func (c *crew) run(work func(e env)) {
	c.t.Helper()
	require.NoError(c.t, c.do(func(e env) error { work(e); return nil }).wait())
}

// receives has one of the crew receive a value.
func receives[T any](c *crew, r receiver[T]) (v T, err error) {
	c.t.Helper()
	err = c.do(func(e env) (err error) { v, err = recv(e, r); return err }).wait()
	return v, err
}
