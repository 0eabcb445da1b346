package servertest

import (
	"sync"
	"time"
)

// A deadline is a time that any goroutine may change, and that others wait for.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	era   uint64        // of the timer: a timer of an earlier era has no effect
	over  chan struct{} // closed when the time has come; nil: no call of wait
	past  bool
}

// set changes the time. Zero: never.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.era++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.past {
		d.past, d.over = false, nil
	}
	if t.IsZero() {
		return
	}
	if left := time.Until(t); left > 0 {
		era := d.era
		d.timer = time.AfterFunc(left, func() { d.pass(era) })
	} else {
		d.expire()
	}
}

func (d *deadline) pass(era uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if era == d.era {
		d.expire()
	}
}

func (d *deadline) expire() {
	d.past = true
	if d.over == nil {
		d.over = make(chan struct{})
	}
	close(d.over)
}

// wait returns a channel that is closed when the deadline has passed, even if the deadline changes
// meanwhile.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
	}
	return d.over
}
