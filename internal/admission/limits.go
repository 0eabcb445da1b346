package admission

import (
	"math"
	"net/netip"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// Limits count accepted connections. Any goroutine may call the methods. They must not be copied.
//
// No wake-up is lost. Await looks for room under the lock, and registers before it releases the
// lock. Leave counts first, and takes the lock then. So either Await sees the room, or Leave sees
// the waiter.
type Limits struct {
	// Fixed before the first call.
	Most      int  // connections in all; 0: no limit
	PerSource int  // connections of one source; 0: no limit
	Waits     bool // above Most connections wait in the backlog of listen; false: they are refused

	all atomics.Int64 // with Most alone

	mu      atomics.Mutex
	sources map[netip.Addr]int // with PerSource alone
	waiting list.List[Waker]
}

// A Waker waits for room: the task of a listener.
type Waker interface{ Wake() }

// A Place is one among those that wait. The zero value is not among them.
type Place struct{ node list.Node[Waker] }

// A Verdict is the decision on an accepted connection.
type Verdict uint8

const (
	Admitted      Verdict = iota // it is counted
	Later                        // there are Most: it waits until Await finds room
	Refused                      // it is to be reset: there are Most
	RefusedSource                // it is to be reset: there are PerSource of its source
)

// Admit counts a connection, if there is room for it. The zero source has no limit of its own.
func (l *Limits) Admit(source netip.Addr) Verdict {
	switch {
	case !l.takeSource(source):
		return RefusedSource
	case l.Most <= 0 || l.takeSlot():
		return Admitted
	}
	l.leaveSource(source)
	if l.Waits {
		return Later
	}
	return Refused
}

func (l *Limits) takeSlot() bool {
	for {
		n := l.all.Load()
		if n >= int64(l.Most) {
			return false
		}
		if l.all.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (l *Limits) bySource(source netip.Addr) bool { return l.PerSource > 0 && source.IsValid() }

func (l *Limits) takeSource(source netip.Addr) bool {
	if !l.bySource(source) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources[source] >= l.PerSource {
		return false
	}
	if l.sources == nil {
		l.sources = make(map[netip.Addr]int)
	}
	l.sources[source]++
	return true
}

func (l *Limits) leaveSource(source netip.Addr) {
	if !l.bySource(source) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources[source]--; l.sources[source] == 0 {
		delete(l.sources, source)
	}
}

// Leave takes back what Admit has counted, and wakes all that wait: each looks again. Nobody is
// woken under the lock.
func (l *Limits) Leave(source netip.Addr) {
	l.leaveSource(source)
	if l.Most <= 0 {
		return
	}
	l.all.Add(-1)
	var batch [list.Batch]Waker
	for n, left := l.take(&batch, math.MaxInt); n > 0; n, left = l.take(&batch, left) {
		for _, w := range batch[:n] {
			w.Wake()
		}
	}
}

// take takes some of those that wait out. left is how many are left, at most.
func (l *Limits) take(batch *[list.Batch]Waker, most int) (n, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left = min(most, l.waiting.Len())
	for n = 0; n < min(left, list.Batch); n++ {
		first := l.waiting.Front()
		batch[n] = first.Value // under the lock: its owner may use the place again
		l.waiting.Remove(first)
	}
	return n, left - n // those that wait again meanwhile are behind them
}

// Bounded reports whether listeners are to accept one connection at a time: those that come
// when there are Most wait.
func (l *Limits) Bounded() bool { return l.Most > 0 && l.Waits }

// Await reports whether there is room; else w is woken once when there is. It is always true
// if connections are refused.
func (l *Limits) Await(p *Place, w Waker) bool {
	if !l.Bounded() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all.Load() < int64(l.Most) {
		return true // a place that it has had is left with the next Leave
	}
	if !p.node.Listed() {
		p.node.Value = w
		l.waiting.PushBack(&p.node)
	}
	return false
}

// Withdraw takes a place out, if it is among those that wait.
func (l *Limits) Withdraw(p *Place) {
	if !l.Bounded() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Remove(&p.node)
}
