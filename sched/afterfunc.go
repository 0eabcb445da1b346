package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/timer"
)

// A FuncTimer calls a function at a time. See Runtime.AfterFunc. It must not be copied. Its
// methods may be called from any goroutine, and concurrently.
type FuncTimer struct {
	entry timer.Entry
	rt    *Runtime
	f     func()
}

// AfterFunc calls f in its own goroutine when d has passed: never early, and usually within
// 2 ms. It is time.AfterFunc on the runtime's time. The timer can be stopped and started
// anew. With d of 0 or less, f is called at once.
//
// A virtual clock (see Config.Paused) stands still while f runs. f is not called if the
// runtime has closed by then, or cannot start. f may block: no worker waits for it. A panic
// of f ends the process. The cost is one allocation, and a goroutine when the time comes.
func (rt *Runtime) AfterFunc(d time.Duration, f func()) *FuncTimer {
	mustHaveFunction(f == nil)
	t := &FuncTimer{rt: rt, f: f}
	t.entry.Value = t
	if rt.Start() == nil {
		t.Reset(d)
	}
	return t
}

// Stop prevents the call of f, and reports whether it did. It reports false if f has already been
// called or the timer has been stopped. It does not wait for a running f.
func (t *FuncTimer) Stop() bool { return t.rt.stopEntry(&t.entry) }

// Reset makes the timer call f once d has passed from now on, and reports whether the timer was
// running. If it was not, f is called once more, perhaps while an earlier call still runs.
func (t *FuncTimer) Reset(d time.Duration) bool {
	return t.rt.startEntry(&t.entry, saturate.Add(t.rt.Now(), d))
}

// fires starts the call of f. The lock of timers is held.
func (t *FuncTimer) fires() {
	t.rt.HoldClock()
	background.Go(func() {
		defer t.rt.ReleaseClock()
		t.f()
	})
}
