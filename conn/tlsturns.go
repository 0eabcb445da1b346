package conn

import (
	"slices"
	"sync"
)

// handshakesPerWorker is TLSConfig.MaxHandshakes for each worker.
const handshakesPerWorker = 256

// turns bounds the handshakes in progress. Whoever leaves has the one that has waited
// for longest begin, so that nobody is passed over, and a turn is lost by nobody: who
// withdraws has either not been given one, or leaves when its goroutine ends.
type turns struct {
	limit int // 0: as many as befit the workers

	mu      sync.Mutex
	running int
	queue   []*layer
}

// enter has the handshake begin when its turn comes.
func (t *turns) enter(l *layer, workers int) {
	t.mu.Lock()
	limit := t.limit
	if limit == 0 {
		limit = handshakesPerWorker * workers
	}
	if t.running >= limit {
		t.queue = append(t.queue, l)
		t.mu.Unlock()
		return
	}
	t.running++
	t.mu.Unlock()
	go l.shake()
}

// leave is the end of a handshake that has begun.
func (t *turns) leave() {
	t.mu.Lock()
	if len(t.queue) == 0 {
		t.running--
		t.mu.Unlock()
		return
	}
	next := t.queue[0]
	t.queue[0] = nil
	if t.queue = t.queue[1:]; len(t.queue) == 0 {
		t.queue = nil
	}
	t.mu.Unlock()
	go next.shake()
}

// waits reports whether the handshake has not begun.
func (t *turns) waits(l *layer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.queue, l)
}

// withdraw is for a connection that has ended.
func (t *turns) withdraw(l *layer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.queue, l); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
}
