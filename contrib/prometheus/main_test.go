package prometheus_test

import (
	"io"
	"os"
	"runtime/pprof"
	"testing"
)

// TestMain fails if goroutines are left that nothing can wake, as package leaks of the library does
// for its own tests. Go 1.26 has that profile with GOEXPERIMENT=goroutineleakprofile.
func TestMain(m *testing.M) {
	code := m.Run()
	if p := pprof.Lookup("goroutineleak"); p != nil && code == 0 {
		_ = p.WriteTo(io.Discard, 1) // it counts
		if p.Count() > 0 {
			_ = p.WriteTo(os.Stderr, 1)
			code = 1
		}
	}
	os.Exit(code)
}
