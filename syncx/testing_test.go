package syncx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

var patience = schedtest.Patience

// slow says that tests should repeat less.
var slow bool

// rounds scales the number of repetitions of a stress test.
func rounds(n int) int {
	if slow || testing.Short() {
		return n / 10
	}
	return n
}

func TestMain(m *testing.M) { schedtest.EndlessMain(m, "sched.(*worker)") }

func stacks() string { return schedtest.Stacks() }

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	schedtest.Eventually(t, what, cond)
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	return schedtest.Receive(t, what, ch)
}

func start(t testing.TB, cfg sched.Config) *sched.Runtime {
	t.Helper()
	return schedtest.Start(t, cfg)
}

// onEach runs a test with 1, 2 and 4 workers.
func onEach(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers}))
		})
	}
}

// outcome is the result of a task.
func outcome[T any](t testing.TB, h *sched.JoinHandle[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := h.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatalf("a task has not ended within %v\n\n%s", patience, stacks())
	}
	return v, err
}

// abandon ends the wait of a future, as package sched does.
func abandon[T any](f sched.Future[T]) { f.(sched.Canceler).Cancel() }
