package blocking

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/list"
)

// ErrClosed is the result of calls that a pool did not make because it has been shut
// down. It matches os.ErrClosed.
var ErrClosed = fmt.Errorf("blocking: pool closed: %w", os.ErrClosed)

// A Pool makes calls that block. The zero value is one with the zero Config. It must
// not be copied. All methods may be called from any goroutine, and at once.
//
// No call is left in the queue while a goroutine could take it. Whoever queues one sees
// to it, under the lock, that somebody will look: one of those that spin, of which
// there are as many as calls are queued; or an idle goroutine, or a new one. All look
// under the lock before they go idle or end. If there is none of these, the limit is
// reached, and whoever ends a call looks.
type Pool struct {
	cfg    Config       // the zero value until set
	queued atomic.Int64 // calls in queue; written under mu

	mu       sync.Mutex
	set      bool // cfg has its defaults
	queue    list.List[job]
	idle     []*thread // the last is woken first, so that the first times out
	threads  int
	busy     int  // of them, those that make a call
	spinning int  // threads that look out for a call
	spins    bool // that is worth it
	closed   bool
	drained  chan struct{} // closed when the pool is, and no thread is left; nil: nobody has asked
}

// A job is a call, whatever its result's type.
type job interface {
	run()
	refuse(err error)
}

// New is a pool. It costs nothing until it is used.
func New(cfg Config) *Pool { return &Pool{cfg: cfg} }

// total is the number of threads of all pools.
var total atomic.Int64

// submit queues a job; false: the pool is closed.
func (p *Pool) submit(n *list.Node[job]) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	if !p.set {
		p.cfg, p.set, p.spins = p.cfg.withDefaults(), true, true
	}
	p.queue.PushBack(n)
	p.queued.Store(int64(p.queue.Len()))
	if p.queue.Len() <= p.spinning {
		p.mu.Unlock()
		return true
	}
	t, start := p.forWork()
	p.mu.Unlock()
	switch {
	case t != nil:
		t.wake <- struct{}{} // there is room: nobody else wakes it
	case start:
		go p.serve(&thread{wake: make(chan struct{}, 1)})
	}
	return true
}

// forWork is who is to look after a job that has been queued: an idle thread, or a new
// one that the caller must start, or neither.
func (p *Pool) forWork() (t *thread, start bool) {
	if last := len(p.idle) - 1; last >= 0 {
		t = p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		return t, false
	}
	if p.threads >= p.cfg.MaxThreads || p.threads > 0 && total.Load() >= maxThreads {
		return nil, false
	}
	p.threads++
	total.Add(1)
	return nil, true
}

// take takes the job that has been queued for longest, nil if there is none. The lock
// is held.
func (p *Pool) take() job {
	n := p.queue.Front()
	if n == nil {
		return nil
	}
	j := n.Value
	p.remove(n)
	return j
}

// remove takes a job out of the queue, and reports whether it was there. The lock is
// held.
func (p *Pool) remove(n *list.Node[job]) bool {
	if !p.queue.Remove(n) {
		return false
	}
	p.queued.Store(int64(p.queue.Len()))
	return true
}

// ThreadCount is the number of goroutines of the pool.
func (p *Pool) ThreadCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.threads
}

// IdleCount is the number of them that make no call.
func (p *Pool) IdleCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.threads - p.busy
}

// Pending is the number of calls in the queue, which have not started.
func (p *Pool) Pending() int { return int(p.queued.Load()) }
