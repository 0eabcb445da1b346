package blocking_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/sched"
)

// patience is how long a condition may take that comes true within milliseconds unless
// a wake-up was lost.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	testmode.EndlessParks.Store(true)
	code := m.Run()
	left := func() bool {
		return strings.Contains(stacks(), "blocking.(*Pool)") || strings.Contains(stacks(), "sched.(*worker)")
	}
	if code == 0 && !comesTrue(func() bool { return !left() }) {
		fmt.Fprintf(os.Stderr, "goroutines outlived their pools:\n%s", stacks())
		code = 1
	}
	os.Exit(code)
}

func stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

func comesTrue(cond func() bool) bool {
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !comesTrue(cond) {
		t.Fatalf("not within %v: %s\n\n%s", patience, what, stacks())
	}
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %v: %s\n\n%s", patience, what, stacks())
		panic("unreachable")
	}
}

// result is that of something that can be waited for, whatever the error is.
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
	rt := sched.New(cfg)
	require.NoError(t, rt.Start())
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// newPool is a pool that must be drained when the test is over.
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

// on runs a test on runtimes with few workers and many.
func on(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) { test(t, start(t, sched.Config{Workers: workers})) })
	}
}

// A gate holds up the calls that pass through it until it is opened.
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

// occupy has a call occupy one of the pool's threads until the gate opens.
func occupy(t testing.TB, p *blocking.Pool) (*gate, *blocking.Handle[int]) {
	t.Helper()
	g := newGate(t, 1)
	h := blocking.Submit(p, g.pass)
	receive(t, "a call starts", g.entered)
	return g, h
}
