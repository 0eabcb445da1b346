package reactortest

import (
	"cmp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/suiro-go/suiro/reactor"
)

// A Backend is one way to open a reactor.
type Backend struct {
	Name   string
	Config reactor.Config // the settings of this backend; the test chooses the sizes

	// Open replaces reactor.Open, for a backend that has no name there. The calling goroutine is
	// locked to its thread.
	Open func(reactor.Config) (reactor.Reactor, error) // nil: reactor.Open
}

// features are turned off one at a time and all together.
var features = []reactor.Feature{
	reactor.FeatureMultishotAccept,
	reactor.FeatureMultishotRecv,
	reactor.FeatureIncremental,
	reactor.FeatureCoopTaskrun,
	reactor.FeatureSkipSuccess,
}

// Backends returns every backend that starts here: each one of this platform, and io_uring also
// without its features. Those that cannot start are logged.
func Backends(t testing.TB) []Backend {
	t.Helper()
	var found []Backend
	for _, name := range reactor.Backends() {
		cfg, err := reactor.Select(reactor.Config{Backend: name}, nil)
		if err != nil {
			t.Logf("reactortest: NOT TESTED here: %v", err)
			continue
		}
		found = append(found, Backend{Name: name, Config: cfg})
		if len(cfg.Without) > 0 {
			t.Logf("reactortest: %s lacks %v here", name, cfg.Without)
		}
		switch name {
		case "epoll":
			found = append(found, unlocked(t, name), coalescing(t, name))
		case "kqueue":
			found = append(found, unlocked(t, name), without(t, name, reactor.FeatureUserWake))
		}
		if name != "io_uring" {
			continue
		}
		for _, f := range features {
			if !slices.Contains(cfg.Without, f) {
				found = append(found, without(t, name, f))
			}
		}
		found = append(found, without(t, name, features...))
	}
	return found
}

// Complete returns each backend that starts here with all its features, for tests that are too long
// for all variants.
func Complete(t testing.TB) []Backend {
	t.Helper()
	return slices.DeleteFunc(Backends(t), func(b Backend) bool { return b.Name != b.Config.Backend })
}

func without(t testing.TB, name string, lacking ...reactor.Feature) Backend {
	t.Helper()
	cfg, err := reactor.Select(reactor.Config{Backend: name, Without: lacking}, nil)
	if err != nil {
		t.Fatalf("%s starts, but not without %v: %v", name, lacking, err)
	}
	what := "features"
	if len(lacking) == 1 {
		what = string(lacking[0])
	}
	return Backend{Name: name + " without " + what, Config: cfg}
}

// unlocked is a backend for owners that share threads with other goroutines.
func unlocked(t testing.TB, name string) Backend {
	t.Helper()
	cfg, err := reactor.Select(reactor.Config{Backend: name, Unlocked: true}, nil)
	if err != nil {
		t.Fatalf("%s starts, but not unlocked: %v", name, err)
	}
	return Backend{Name: name + " without a thread", Config: cfg}
}

// coalescing is a backend that coalesces wake-ups.
func coalescing(t testing.TB, name string) Backend {
	t.Helper()
	cfg, err := reactor.Select(reactor.Config{Backend: name, Coalesce: 100 * time.Microsecond}, nil)
	if err != nil {
		t.Fatalf("%s starts, but lets nothing gather: %v", name, err)
	}
	return Backend{Name: name + " with naps", Config: cfg}
}

// open opens the backend with the given sizes. A zero size stays at its default.
func (b Backend) open(sizes reactor.Config) (reactor.Reactor, error) {
	cfg := b.Config
	cfg.Entries = cmp.Or(sizes.Entries, cfg.Entries)
	cfg.Buffers = cmp.Or(sizes.Buffers, cfg.Buffers)
	cfg.BufferSize = cmp.Or(sizes.BufferSize, cfg.BufferSize)
	cfg.Datagrams = cmp.Or(sizes.Datagrams, cfg.Datagrams)
	cfg.DatagramSize = cmp.Or(sizes.DatagramSize, cfg.DatagramSize)
	if b.Open != nil {
		return b.Open(cfg)
	}
	return reactor.Open(cfg)
}

// lock locks the test to its thread, as the owner of a reactor must be.
func lock(t testing.TB) {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
}
