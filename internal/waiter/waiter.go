// Package waiter lets goroutines and tasks wait for events of a socket: data, room, a turn to
// write. A Waiter is one of them, and a List is the line for one event, under the socket's lock.
package waiter

import (
	"sync"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A Waiter is a goroutine or a task that waits for an event of a socket. It waits in a List, which
// the socket's lock guards.
//
// One rule holds for all. The code that takes a Waiter out of its list, under the lock, sets the
// result and wakes it once, after the lock. So a goroutine that was woken knows the result without
// the lock, and nothing else touches its buffer any more. One that gives up takes itself out of the
// list. If it finds that it is in none, it was woken.
//
// A task looks, under the lock, whether it is still in the list. So it may see its result before
// the wake-up, which a Wakeup then makes without the Waiter.
type Waiter struct {
	place list.Node[*Waiter]

	// Woke receives one element, when the Waiter is woken and is a goroutine.
	Woke chan struct{}

	// Waker wakes the task that waits. The lock guards it. The zero value: a goroutine waits.
	Waker sched.Waker

	P   []byte // of a read: where to; of a write: what
	N   int    // bytes read into P
	Err error  // nil: the event has come
}

var pool = sync.Pool{New: func() any {
	w := &Waiter{Woke: bubble.Chan[struct{}](1)}
	w.place.Value = w
	return w
}}

// Get is a Waiter in no list, with nothing set.
func Get() *Waiter { return pool.Get().(*Waiter) }

// Put gives back a Waiter that is in no list, whose Woke is empty, and that nothing else
// refers to.
func (w *Waiter) Put() {
	w.P, w.N, w.Err, w.Waker = nil, 0, nil, sched.Waker{}
	pool.Put(w)
}

// Listed reports whether the Waiter is in a list: so nobody has woken it, or is about to.
func (w *Waiter) Listed() bool { return w.place.Listed() }

// Wake wakes a goroutine whose Waiter was taken out of its list. A task needs a Wakeup.
func (w *Waiter) Wake() { w.Woke <- struct{}{} }

// A List is the Waiters that wait for one thing, in the order in which they came. The zero
// value is empty.
type List struct{ all list.List[*Waiter] }

// Len is how many wait.
func (l *List) Len() int { return l.all.Len() }

// Add puts a Waiter behind the others.
func (l *List) Add(w *Waiter) { l.all.PushBack(&w.place) }

// First is the Waiter that has waited for longest; nil: there is none.
func (l *List) First() *Waiter {
	if n := l.all.Front(); n != nil {
		return n.Value
	}
	return nil
}

// Remove takes a Waiter out, which is in this list or in none. It reports whether it was
// in the list.
func (l *List) Remove(w *Waiter) bool { return l.all.Remove(&w.place) }

// Take takes the first Waiter out; nil: there is none.
func (l *List) Take() *Waiter {
	w := l.First()
	if w != nil {
		l.Remove(w)
	}
	return w
}

// A Wakeup is the Waiters to wake once the lock is released. There is nearly always at most
// one, which needs no memory.
type Wakeup struct {
	first *Waiter
	more  []*Waiter
	task  sched.Waker
	tasks []sched.Waker
}

// Add adds a Waiter that was taken out of its list. The lock is held.
func (u *Wakeup) Add(w *Waiter) {
	switch {
	case w.Waker == sched.Waker{}:
		if u.first == nil {
			u.first = w
		} else {
			u.more = append(u.more, w)
		}
	case u.task == sched.Waker{}:
		u.task = w.Waker
	default:
		u.tasks = append(u.tasks, w.Waker)
	}
}

// AddAll takes all Waiters out of a list, with an error. The lock is held.
func (u *Wakeup) AddAll(l *List, err error) {
	for w := l.Take(); w != nil; w = l.Take() {
		w.Err = err
		u.Add(w)
	}
}

// Wake wakes them. The lock is released.
func (u *Wakeup) Wake() { u.WakeFrom(nil) }

// WakeFrom is Wake from the task or driver that cx is of; nil: from elsewhere.
func (u *Wakeup) WakeFrom(cx *sched.Context) {
	if u.first != nil {
		u.first.Wake()
	}
	for _, w := range u.more {
		w.Wake()
	}
	if u.task == (sched.Waker{}) {
		return
	}
	wake(cx, u.task)
	for _, w := range u.tasks {
		wake(cx, w)
	}
}

func wake(cx *sched.Context, w sched.Waker) {
	if cx == nil {
		w.Wake()
	} else {
		cx.Wake(w)
	}
}
