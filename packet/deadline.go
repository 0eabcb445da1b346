package packet

import (
	"sync"
	"time"
)

// A deadline is a time that any goroutine may change, and others wait for.
type deadline struct {
	mu      sync.Mutex
	timer   *time.Timer
	expired chan struct{} // closed at the deadline
	moved   chan struct{} // closed when another deadline is set
}

func (d *deadline) init() { d.expired, d.moved = make(chan struct{}), make(chan struct{}) }

// set changes the deadline; zero: none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	close(d.moved)
	d.init() // a timer that has just fired closes the channel of before
	if t.IsZero() {
		return
	}
	expired := d.expired
	if left := time.Until(t); left <= 0 {
		close(expired)
	} else {
		d.timer = time.AfterFunc(left, func() { close(expired) })
	}
}

// wait is a channel that is closed at the deadline, and one that is closed if that is
// changed before.
func (d *deadline) wait() (expired, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expired, d.moved
}
