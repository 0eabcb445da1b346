package sched_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

// slow says that tests should repeat less.
var slow = sched.Slow

// rounds scales the number of repetitions of a stress test.
func rounds(n int) int {
	if slow || testing.Short() {
		return n / 10
	}
	return n
}

// TestMain leaves parks unchanged: tests here set their own.
func TestMain(m *testing.M) { schedtest.Main(m, "sched.(*worker)") }

func stacks() string { return schedtest.Stacks() }

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	schedtest.Eventually(t, what, cond)
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	return schedtest.Receive(t, what, ch)
}

// hasFewGoroutines waits until there are fewer goroutines than bound. NumGoroutine may count too
// many for a moment: ended goroutines whose stacks a garbage collection is freeing.
func hasFewGoroutines(t testing.TB, bound int) {
	t.Helper()
	eventually(t, "there are few goroutines", func() bool { return runtime.NumGoroutine() < bound })
}

// A body is a task's body that is a function.
type body func(cx *sched.Context) (done bool)

func (f body) Run(cx *sched.Context) bool { return f(cx) }

func newTask(rt *sched.Runtime, home int, f body) *sched.Task {
	t := new(sched.Task)
	t.Init(rt, f)
	t.Pin(home)
	return t
}

// freeTask is a task that any worker may run.
func freeTask(rt *sched.Runtime, f body) *sched.Task {
	t := new(sched.Task)
	t.Init(rt, f)
	return t
}

// pass waits until the worker has run all tasks that were queued before.
func pass(t testing.TB, rt *sched.Runtime, home int) {
	t.Helper()
	ran := make(chan struct{})
	newTask(rt, home, func(*sched.Context) bool { close(ran); return true }).Wake()
	receive(t, "a worker gets to a task", ran)
}

// occupy keeps a worker busy with a task until release is called.
func occupy(t testing.TB, rt *sched.Runtime, home int) (release func()) {
	t.Helper()
	busy, leave := make(chan struct{}), make(chan struct{})
	newTask(rt, home, func(*sched.Context) bool { close(busy); <-leave; return true }).Wake()
	receive(t, "a worker gets to a task", busy)
	release = sync.OnceFunc(func() { close(leave) })
	t.Cleanup(release)
	return release
}

func start(t testing.TB, cfg sched.Config) *sched.Runtime {
	t.Helper()
	rt := sched.New(cfg)
	require.NoError(t, rt.Start())
	t.Cleanup(func() { shut(t, rt) })
	return rt
}

func shut(t testing.TB, rt *sched.Runtime) error {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- rt.Close() }()
	return receive(t, "a runtime closes", closed)
}

// onEach runs a test on runtimes with few and with many workers. They have no I/O, a driver that
// holds, or a driver that only blocks.
func onEach(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("sleeper/%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers}))
		})
		for name, hold := range map[string]time.Duration{"holding": 0, "blocking": -1} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				rt, _ := startFakes(t, sched.Config{Workers: workers, Hold: hold})
				test(t, rt)
			})
			t.Run(fmt.Sprintf("%s on any thread/%d", name, workers), func(t *testing.T) {
				rt, _ := startFakes(t, sched.Config{Workers: workers, Hold: hold, AnyThread: true})
				test(t, rt)
			})
		}
	}
}
