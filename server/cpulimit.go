package server

import (
	"log/slog"
	"math"
	"sync"

	"github.com/suiro-go/suiro/internal/cpulimit"
)

var warnOfLimit sync.Once // checkLimit warns once per process

// checkLimit warns, once in a process, of a container's CPU limit below GOMAXPROCS. Go itself sets
// GOMAXPROCS by the limit, so somebody has set another value. The kernel then stops all threads for
// the rest of each period (100 ms as a rule) in which they have used up the limit.
func checkLimit(log *slog.Logger, procs int) {
	warnOfLimit.Do(func() {
		if cpus, ok := cpulimit.Limit(); ok {
			warnAbove(log, procs, cpus)
		}
	})
}

// warnAbove warns if Go would have chosen a lower GOMAXPROCS: it rounds a limit up, to 2 at least.
func warnAbove(log *slog.Logger, procs int, cpus float64) {
	if most := max(2, math.Ceil(cpus)); float64(procs) > most {
		log.Warn("server: GOMAXPROCS is above the container's CPU limit, so the kernel stops all threads again and again; leave GOMAXPROCS unset, or raise the limit",
			"gomaxprocs", procs, "limit", cpus)
	}
}
