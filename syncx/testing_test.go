package syncx_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/sched"
)

// patience is how long a condition may take that comes true within milliseconds unless
// a wake-up was lost.
const patience = 30 * time.Second

// slow says that tests have to do with fewer rounds.
var slow bool

// rounds scales what a stress test repeats.
func rounds(n int) int {
	if slow || testing.Short() {
		return n / 10
	}
	return n
}

func TestMain(m *testing.M) {
	flag.Parse()
	testmode.EndlessParks.Store(flag.Lookup("test.bench").Value.String() == "") // benchmarks are of what users have
	code := m.Run()
	if code == 0 && !comesTrue(func() bool { return !strings.Contains(stacks(), "sched.(*worker)") }) {
		fmt.Fprintf(os.Stderr, "workers outlived their runtimes:\n%s", stacks())
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

// eventually waits until cond holds; what says so in words.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !comesTrue(cond) {
		t.Fatalf("not within %v: %s\n\n%s", patience, what, stacks())
	}
}

// receive waits for a value, or for the channel to be closed.
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

func start(t testing.TB, cfg sched.Config) *sched.Runtime {
	t.Helper()
	rt := sched.New(cfg)
	require.NoError(t, rt.Start())
	t.Cleanup(func() {
		closed := make(chan error, 1)
		go func() { closed <- rt.Close() }()
		_ = receive(t, "a runtime closes", closed)
	})
	return rt
}

// onEach runs a test with 1, 2 and 4 workers.
func onEach(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers}))
		})
	}
}

// outcome is what a task comes to.
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

// awaitAll waits for goroutines.
func awaitAll(t testing.TB, all *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	receive(t, "all goroutines end", done)
}
