package duplex

import (
	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/sched"
)

// An Event is a condition of a Duplex that a task waits for.
type Event int

const (
	Readable Event = iota // a Read would not wait
	Writable              // a Write would not wait before it has written something
	Closed                // Close was called, or the Line has ended
	Draining              // Drain was called, or the Line has ended
	Opened                // Open was called, or will not be
	Over                  // Closed, or a deadline has passed
	atLeast               // atLeast+n: n bytes can be read in place, or never will
)

// A Watch is a future that is done when its Event holds. It takes nothing: neither bytes nor a
// turn. It belongs to one task at a time.
type Watch struct {
	d     *Duplex
	event Event
	w     *waiter.Waiter // nil: it does not wait; w.N is the event
}

var (
	_ sched.Future[struct{}] = (*Watch)(nil)
	_ sched.Canceler         = (*Watch)(nil)
)

// Watch is a future of an event.
func (d *Duplex) Watch(e Event) *Watch { return &Watch{d: d, event: e} }

// Poll implements sched.Future.
func (f *Watch) Poll(cx *sched.Context) (struct{}, error) {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds(f.event) {
		f.leave()
		return struct{}{}, nil
	}
	f.wait(cx)
	return struct{}{}, sched.ErrPending
}

// wait puts the Watch into the list. The lock is held.
func (f *Watch) wait(cx *sched.Context) {
	if f.w == nil {
		f.w = waiter.Get()
		f.w.N = int(f.event)
	}
	f.w.Waker = cx.Waker()
	if !f.w.Listed() {
		f.d.watchers.Add(f.w)
	}
}

// Cancel implements sched.Canceler.
func (f *Watch) Cancel() {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.leave()
}

// leave gives the waiter back. The lock is held.
func (f *Watch) leave() {
	if f.w != nil {
		f.d.watchers.Remove(f.w)
		f.w.Put()
		f.w = nil
	}
}

// holds reports whether an event holds. The lock is held.
func (d *Duplex) holds(e Event) bool {
	switch e {
	case Readable:
		_, over := d.unreadable()
		return over || d.in.Bytes > 0 || d.exhausted() != nil
	case Writable:
		return d.unwritable() != nil || !d.writing && d.line.Room()
	case Draining:
		return d.draining || d.closed || d.gone
	case Closed:
		return d.closed || d.gone
	case Opened:
		return d.line != nil || d.closed || d.gone
	case Over:
		return d.closed || d.gone || d.late()
	default:
		n := int(e - atLeast)
		_, over := d.unreadable()
		return over || d.in.Bytes >= n || d.tooFar(n) || d.exhausted() != nil
	}
}

// stir wakes the tasks whose event holds. They look again. It comes at the end of each change that
// may make an event hold. The lock is held.
func (d *Duplex) stir(u *waiter.Wakeup) {
	for n := d.watchers.Len(); n > 0; n-- {
		w := d.watchers.Take()
		if d.holds(Event(w.N)) {
			u.Add(w)
		} else {
			d.watchers.Add(w)
		}
	}
}

// Drain says that the Line's owner is about to end it.
func (d *Duplex) Drain() {
	var u waiter.Wakeup
	d.mu.Lock()
	d.draining = true
	d.stir(&u)
	d.mu.Unlock()
	u.Wake()
}
