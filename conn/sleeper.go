package conn

import (
	"sync"

	"github.com/suiro-go/suiro/internal/list"
)

// A sleeper is a goroutine that waits for something of a Socket. Whoever takes it out
// of its list, under the Socket's lock, says what came of it and calls wake, once, after
// the lock: so a sleeper that has been woken knows all without taking the lock again,
// and nobody touches its buffer any more.
type sleeper struct {
	place list.Node[*sleeper]
	woke  chan struct{} // has room for the one wake

	p   []byte // a reader's
	n   int    // what was read into it
	err error
}

type sleepers = list.List[*sleeper]

var sleeperPool = sync.Pool{New: func() any {
	w := &sleeper{woke: make(chan struct{}, 1)}
	w.place.Value = w
	return w
}}

func getSleeper() *sleeper { return sleeperPool.Get().(*sleeper) }

// put gives back a sleeper that has been woken.
func (w *sleeper) put() {
	w.p, w.n, w.err = nil, 0, nil
	sleeperPool.Put(w)
}

func (w *sleeper) wake() { w.woke <- struct{}{} }

// A wakeup is who is to be woken once the lock is released. There is nearly always at
// most one, which needs no memory.
type wakeup struct {
	first *sleeper
	more  []*sleeper
}

func (u *wakeup) add(w *sleeper) {
	if u.first == nil {
		u.first = w
	} else {
		u.more = append(u.more, w)
	}
}

// addAll takes all out of a list, with an error.
func (u *wakeup) addAll(l *sleepers, err error) {
	for n := l.Front(); n != nil; n = l.Front() {
		l.Remove(n)
		n.Value.err = err
		u.add(n.Value)
	}
}

func (u *wakeup) wake() {
	if u.first != nil {
		u.first.wake()
	}
	for _, w := range u.more {
		w.wake()
	}
}
