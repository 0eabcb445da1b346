package blocking_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

var patience = schedtest.Patience

func TestMain(m *testing.M) { schedtest.EndlessMain(m, "sched.(*worker)", "blocking.(*Pool)") }

func stacks() string { return schedtest.Stacks() }

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	schedtest.Eventually(t, what, cond)
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	return schedtest.Receive(t, what, ch)
}

// result is the result of a wait, with any error.
func result[T any](t testing.TB, h interface {
	Wait(context.Context) (T, error)
}) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := h.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatalf("no result within %v\n\n%s", patience, stacks())
	}
	return v, err
}

func start(t testing.TB, cfg sched.Config) *sched.Runtime {
	t.Helper()
	return schedtest.Start(t, cfg)
}

// newPool is a pool that must be drained at the end of the test.
func newPool(t testing.TB, cfg blocking.Config) *blocking.Pool {
	t.Helper()
	p := blocking.New(cfg)
	t.Cleanup(func() { shutdown(t, p) })
	return p
}

func shutdown(t testing.TB, p *blocking.Pool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, p.Shutdown(ctx), "%s", stacksIf(ctx.Err() != nil))
	require.Zero(t, p.ThreadCount())
	require.Zero(t, p.Pending())
}

func stacksIf(cond bool) string {
	if cond {
		return stacks()
	}
	return ""
}

// on runs a test on runtimes with few and with many workers.
func on(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) { test(t, start(t, sched.Config{Workers: workers})) })
	}
}

// A gate blocks the calls that pass through it until it is opened.
type gate struct{ entered, open chan struct{} }

func newGate(t testing.TB, room int) *gate {
	g := &gate{entered: make(chan struct{}, room), open: make(chan struct{})}
	t.Cleanup(g.release)
	return g
}

func (g *gate) pass() (int, error) {
	g.entered <- struct{}{}
	<-g.open
	return 1, nil
}

func (g *gate) release() {
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// occupy makes a call occupy one of the pool's threads until the gate opens.
func occupy(t testing.TB, p *blocking.Pool) (*gate, *blocking.Handle[int]) {
	t.Helper()
	g := newGate(t, 1)
	h := blocking.Submit(p, g.pass)
	receive(t, "a call starts", g.entered)
	return g, h
}
