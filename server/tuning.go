package server

import "time"

// Tuning says how idle workers wait: it trades CPU time for latency. The zero value suits most
// servers. docs/tuning.md has figures.
type Tuning struct {
	// Hold is how long an idle worker keeps its processor before it blocks. 0: 100 µs. Negative: it
	// blocks at once. See sched.Config.
	Hold time.Duration

	// BusyPoll is how long an idle worker polls for events before it waits, as long as polling
	// finds some. 0: it does not. At most 1 ms. See sched.Config.
	BusyPoll time.Duration

	// Coalesce delays the wake-ups of idle workers under load by up to this time, so that one
	// wake-up serves several events: less CPU time for more latency. 0: no delay. At most 1 ms. It
	// is for epoll, which Linux then uses unless a backend is named. It has no effect on other
	// backends, nor where workers only wake goroutines (see Listen). See reactor.Config.
	Coalesce time.Duration
}
