// Package schedtest helps to test package sched and the packages on it. It waits for conditions
// instead of times. It turns a hang into a failure that shows which tasks wait for which, and
// reports everything that a test leaves behind.
package schedtest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/suiro-go/suiro/internal/leaks"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/sched"
)

// Patience is how long a condition may take that comes true within milliseconds unless
// a wake-up was lost.
var Patience = patience.Limit

// EndlessMain is a Main with which every runtime parks without limit, so that a lost wake-up hangs.
// Benchmarks are an exception: they measure the default behavior.
func EndlessMain(m *testing.M, leavings ...string) {
	flag.Parse()
	testmode.EndlessParks.Store(flag.Lookup("test.bench").Value.String() == "")
	Main(m, leavings...)
}

// Main is a TestMain. The run fails if goroutines are left, in the end, that run
// methods of a type of leavings, such as "sched.(*worker)". Runtimes have no spare workers unless
// the test asks for some.
func Main(m *testing.M, leavings ...string) {
	testmode.NoSpares.Store(true)
	code := m.Run()
	gone := func() bool {
		all := Stacks()
		for _, l := range leavings {
			if strings.Contains(all, l) {
				return false
			}
		}
		return true
	}
	if code == 0 && !ComesTrue(gone) {
		fmt.Fprintf(os.Stderr, "goroutines outlived their tests:\n%s", Stacks())
		code = 1
	}
	leaks.Exit(code)
}

// Stacks is what all goroutines are at.
func Stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// ComesTrue waits until cond holds; false: it does not.
func ComesTrue(cond func() bool) bool {
	for deadline := time.Now().Add(Patience); !cond(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Eventually waits until cond holds; what says so in words.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !ComesTrue(cond) {
		t.Fatalf("not within %v: %s\n\n%s", Patience, what, Stacks())
	}
}

// IsFreed waits until a cleanup of something (see runtime.AddCleanup) has closed the channel freed.
func IsFreed(t testing.TB, what string, freed <-chan struct{}) {
	t.Helper()
	Eventually(t, what, func() bool {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	})
}

// Receive waits for a value, or for the channel to be closed.
func Receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(Patience):
		t.Fatalf("not within %v: %s\n\n%s", Patience, what, Stacks())
		panic("unreachable")
	}
}

// Start is a runtime that is closed when the test is over.
func Start(t testing.TB, cfg sched.Config) *sched.Runtime {
	t.Helper()
	rt := sched.New(cfg)
	if err := rt.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closed := make(chan error, 1)
		go func() { closed <- rt.Close() }()
		if err := Receive(t, "a runtime closes", closed); err != nil {
			t.Error(err)
		}
	})
	return rt
}
