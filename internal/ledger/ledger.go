package ledger

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// A Ledger is the sum of the bytes that the connections of one group have buffered. Any goroutine
// may use it. It must not be copied.
//
// Await registers the task that finds no room, and then looks once more. Memory that is given back
// is counted first, and then PassOn looks at the registered tasks. So either Await sees the room,
// or PassOn sees the task.
type Ledger struct {
	Max int // bytes, more than 0. Fixed before the first call.

	own     atomics.Int64 // what connections themselves have, in bytes
	unsent  atomics.Int64 // of that, what peers may take; at no time less than is so
	kept    atomics.Int64 // received and kept for goroutines
	waiters atomics.Int32 // length of line

	mu   atomics.Mutex
	line list.List[Waker]
}

// A Waker waits for memory: a task.
type Waker interface{ Wake() }

// A Place is one in the line for memory. The zero value is in none.
type Place struct{ node list.Node[Waker] }

// Waits reports whether p stands in the line.
func (l *Ledger) Waits(p *Place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.node.Listed()
}

// Own is what connections themselves have buffered, in bytes.
func (l *Ledger) Own() int64 { return l.own.Load() }

// Buffered is what connections and goroutines have buffered, in bytes.
func (l *Ledger) Buffered() int { return int(l.Own() + l.kept.Load()) }

// Full reports whether a connection is to be reset: see the package comment.
func (l *Ledger) Full() bool { return l.Own() >= int64(l.Max) }

// Tight reports whether input that can wait must wait.
func (l *Ledger) Tight() bool { return l.Buffered() > l.tooMuch() }

func (l *Ledger) tooMuch() int { return l.Max / 4 * 3 }

// Await reports whether there is memory; else w is woken when there is, once.
func (l *Ledger) Await(p *Place, w Waker) bool {
	if !l.Tight() {
		return true // if it stands in the line, its turn is passed on
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.node.Listed() {
		p.node.Value = w
		l.line.PushBack(&p.node)
		l.waiters.Store(int32(l.line.Len()))
	}
	if l.Tight() {
		return false
	}
	l.remove(&p.node)
	return true
}

// remove takes a place out of the line. The lock is held.
func (l *Ledger) remove(n *list.Node[Waker]) {
	l.line.Remove(n)
	l.waiters.Store(int32(l.line.Len()))
}

// Leave takes a place out of the line, if it stands there.
func (l *Ledger) Leave(p *Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(&p.node)
}

// PassOn wakes the first in the line, if there is memory for it. It is called after memory was
// given back, and by each task that was woken, whether or not that was of use. It reports
// whether a connection is to be reset, because there never will be memory.
func (l *Ledger) PassOn() (shed bool) {
	if l.waiters.Load() == 0 {
		return false
	}
	if l.Tight() {
		// It may be otherwise by now: unsent bytes are counted in own for as long.
		return l.unsent.Load() == 0 && l.Own() > int64(l.tooMuch())
	}
	l.mu.Lock()
	var w Waker
	if next := l.line.Front(); next != nil {
		w = next.Value // under the lock: its owner may take a place again at once
		l.remove(next)
	}
	l.mu.Unlock()
	if w != nil {
		w.Wake()
	}
	return false
}
