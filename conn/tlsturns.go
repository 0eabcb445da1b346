package conn

import (
	"sync"

	"github.com/suiro-go/suiro/internal/list"
)

// handshakesPerWorker is TLSConfig.MaxHandshakes for each worker.
const handshakesPerWorker = 256

// turns bounds the handshakes that compute. A handshake holds a turn while its goroutine
// computes, and none while that waits for the peer (rawConn.Read): so a silent peer costs
// others nothing. Requests are served in order, whether they begin or go on.
//
// Invariant: running is the number of layers whose turn is given, and at most the limit
// unless nobody waits. Each turn that is given is left once: by the goroutine before it
// waits for the peer, or at its end. No wake-up is lost: grant stores given under mu
// before it signals under the layer's lock, and await looks at it under that lock before
// it waits.
type turns struct {
	limit int // 0: as many as befit the workers

	mu      sync.Mutex // inside a layer's lock, never around it
	running int
	queue   list.List[*layer]
}

// A turn is a layer's part of turns, guarded by their lock.
type turn struct {
	place list.Node[*layer]
	given bool
	begun bool // the goroutine exists: it waits for the turn itself
}

// ask has the layer take a turn, or stand in line for one. It reports whether it has one.
func (t *turns) ask(l *layer) bool {
	limit := t.limit
	if limit == 0 {
		limit = handshakesPerWorker * l.conn.group.rt.Workers()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running >= limit {
		l.turn.place.Value = l
		t.queue.PushBack(&l.turn.place)
		return false
	}
	t.running++
	l.turn.given, l.turn.begun = true, true
	return true
}

// begin has the handshake begin when its turn comes.
func (t *turns) begin(l *layer) {
	if t.ask(l) {
		go l.shake()
	}
}

// await takes a turn for a goroutine that goes on. If its connection ends before, it
// returns why.
func (t *turns) await(l *layer) error {
	if t.ask(l) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !t.given(l) {
		if l.stopped && t.withdraw(l) {
			return l.over
		}
		l.arrived.Wait()
	}
	return nil
}

func (t *turns) given(l *layer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return l.turn.given
}

// leave gives the turn back, if the layer has one: to the one that has waited for longest.
func (t *turns) leave(l *layer) {
	t.mu.Lock()
	if !l.turn.given {
		t.mu.Unlock()
		return
	}
	l.turn.given = false
	front := t.queue.Front()
	if front == nil {
		t.running--
		t.mu.Unlock()
		return
	}
	t.queue.Remove(front)
	next := front.Value
	next.turn.given = true
	begun := next.turn.begun
	next.turn.begun = true
	t.mu.Unlock()
	if !begun {
		go next.shake()
		return
	}
	next.mu.Lock()
	defer next.mu.Unlock()
	next.arrived.Signal()
}

// waitsToBegin reports whether the handshake stands in line and has no goroutine.
func (t *turns) waitsToBegin(l *layer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return l.turn.place.Listed() && !l.turn.begun
}

// withdraw takes the layer out of the line, and reports whether it stood there.
func (t *turns) withdraw(l *layer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue.Remove(&l.turn.place)
}

// giveUp is for a connection that ends: its handshake is not to begin. One that has begun
// withdraws by itself.
func (t *turns) giveUp(l *layer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !l.turn.begun {
		t.queue.Remove(&l.turn.place)
	}
}
