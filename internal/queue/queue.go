// Package queue has a first-in first-out queue for goroutines and tasks. Both wait for items in one
// line, first come first served: a goroutine blocks in Take, and a task awaits Poll.
package queue

import (
	"sync"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/onworker"
	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/sched"
)

// A Queue holds items until they are taken. Any goroutine may call the methods, and a worker all
// but Take. The zero value is empty. It must not be copied.
//
// A Push wakes the first that waits, which then looks whether the item is still there: another
// call may have been quicker. So a call that was woken and gives up wakes the next one, if there
// is an item.
type Queue[T any] struct {
	mu      sync.Mutex
	items   bufs.FIFO[T]
	waiting list.List[*Place] // while there are some, each Push wakes one
	closed  bool
}

// A Place is one among those that wait. The zero value is not among them. It must not be copied
// while it is.
type Place struct {
	node  list.Node[*Place]
	w     *waiter.Waiter // the goroutine; nil: it is a task
	waker sched.Waker    // the task
}

// A State says how an attempt to take an item has ended.
type State uint8

const (
	Taken  State = iota // there was an item
	Empty               // there was none
	Closed              // the queue is closed
)

// Push adds an item behind the others, unless the queue is closed.
func (q *Queue[T]) Push(v T) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.items.Push(v)
	wake := q.next()
	q.mu.Unlock()
	wake()
	return true
}

// next takes the first waiter out of the list, and returns the function that wakes it. The lock is
// held; the caller calls the function without it.
func (q *Queue[T]) next() (wake func()) {
	n := q.waiting.Front()
	if n == nil {
		return func() {}
	}
	q.waiting.Remove(n)
	p := n.Value
	if p.w != nil {
		return p.w.Wake
	}
	return p.waker.Wake // of now: the task may wait again, with another one
}

// pop takes the first item. The lock is held.
func (q *Queue[T]) pop() (v T, s State) {
	switch {
	case q.closed:
		return v, Closed
	case q.items.Len() == 0:
		return v, Empty
	}
	return q.items.Pop(), Taken
}

// add puts a place behind the others. The lock is held.
func (q *Queue[T]) add(p *Place) {
	p.node.Value = p
	q.waiting.PushBack(&p.node)
}

// Try takes the first item, if there is one.
func (q *Queue[T]) Try() (T, State) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pop()
}

// Take takes the first item, and waits for it until done is closed: then the state is Empty. On a
// worker it does not wait: the state is Empty, and refused says why.
func (q *Queue[T]) Take(done <-chan struct{}) (v T, s State, refused error) {
	for {
		q.mu.Lock()
		v, s = q.pop()
		if s == Empty {
			refused = onworker.Wait()
		}
		if s != Empty || refused != nil {
			q.mu.Unlock()
			return v, s, refused
		}
		p := &Place{w: waiter.Get()}
		q.add(p)
		q.mu.Unlock()
		select {
		case <-p.w.Woke:
			p.w.Put()
		case <-done:
			if q.GiveUp(p) {
				<-p.w.Woke
			}
			p.w.Put()
			return v, s, nil
		}
	}
}

// Poll takes the first item. If there is none, it takes the place p, unless it has it, and wakes w
// when there may be an item.
func (q *Queue[T]) Poll(p *Place, w sched.Waker) (T, State) {
	q.mu.Lock()
	defer q.mu.Unlock()
	v, s := q.pop()
	if s != Empty {
		q.waiting.Remove(&p.node)
		return v, s
	}
	p.waker = w
	if !p.node.Listed() {
		q.add(p)
	}
	return v, s
}

// GiveUp gives a place back. It reports whether it had been woken.
func (q *Queue[T]) GiveUp(p *Place) (woken bool) {
	wake := func() {}
	q.mu.Lock()
	woken = !q.waiting.Remove(&p.node)
	if woken && q.items.Len() > 0 {
		wake = q.next()
	}
	q.mu.Unlock()
	wake()
	return woken
}

// Close closes the queue, wakes all that wait, and returns the items that nobody has taken. It
// reports whether the queue was open.
func (q *Queue[T]) Close() (left []T, was bool) {
	var wakes []func()
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, false
	}
	q.closed = true
	for q.waiting.Len() > 0 {
		wakes = append(wakes, q.next())
	}
	left = q.items.Take()
	q.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
	return left, true
}

// Len is how many items there are.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.Len()
}

// Waiting is how many wait.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting.Len()
}
