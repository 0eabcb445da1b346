package process_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// slow says that tests should repeat less, because they run under the race detector.
var slow bool

// rounds scales the number of repetitions of a stress test.
func rounds(n int) int {
	if slow || testing.Short() {
		return n / 20
	}
	return n
}

func TestMain(m *testing.M) { schedtest.EndlessMain(m, "sched.(*worker)") }

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	schedtest.Eventually(t, what, cond)
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	return schedtest.Receive(t, what, ch)
}

// newSystem is a system that is shut down when the test is over.
func newSystem(t testing.TB, workers int, cfg process.Config) *process.System {
	if cfg.Runtime == nil {
		cfg.Runtime = sched.New(sched.Config{Workers: workers})
	}
	s := process.New(cfg)
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown(context.Background()))
		require.Zero(t, s.Len())
		require.NoError(t, cfg.Runtime.Close())
	})
	return s
}

// onEach runs a test with few and with many workers.
func onEach(t *testing.T, test func(t *testing.T, s *process.System)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) { test(t, newSystem(t, workers, process.Config{})) })
	}
}

// A machine is a Process whose Step is a function.
type machine struct {
	init  func(ctx context.Context, method string, input any) error
	step  func(events []process.Event, out *process.StepOutput) error
	close func()
	self  *process.Self
}

func (m *machine) Init(ctx context.Context, method string, input any) error {
	m.self = process.FromContext(ctx)
	if m.init != nil {
		return m.init(ctx, method, input)
	}
	return nil
}

func (m *machine) Step(events []process.Event, out *process.StepOutput) error {
	if m.step != nil {
		return m.step(events, out)
	}
	out.Status = process.Idle
	for _, ev := range events {
		if ev.Type == process.EventCancel {
			return process.ErrCanceled
		}
	}
	return nil
}

func (m *machine) Close() {
	if m.close != nil {
		m.close()
	}
}

func startMachine(t testing.TB, s *process.System, m *machine, o process.Options) process.PID {
	t.Helper()
	pid, err := process.Start(s, m, o)
	require.NoError(t, err)
	return pid
}

// spawn starts a process that is a function.
func spawn(t testing.TB, s *process.System, fn func(cx *sched.Context, self *process.Inbox[any]) error) process.PID {
	t.Helper()
	ref, err := process.Go(s, process.Options{}, fn)
	require.NoError(t, err)
	return ref.PID()
}

// waits is a function that ends at a cancel event.
func waits(cx *sched.Context, self *process.Inbox[any]) error {
	for {
		if _, err := self.Receive(cx); err != nil {
			return err
		}
	}
}

// ends is a function that ends with the first message, which is an error or nil.
func ends(cx *sched.Context, self *process.Inbox[any]) error {
	m, err := self.Receive(cx)
	if err != nil {
		return err
	}
	reason, _ := m.(error)
	return reason
}

// paused is a system whose time is virtual.
func paused(t testing.TB) *process.System {
	return newSystem(t, 1, process.Config{Runtime: sched.New(sched.Config{Workers: 1, Paused: true})})
}
