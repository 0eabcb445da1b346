package blocking

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/list"
)

// ErrClosed is the result of calls that a pool did not make because it has been shut
// down. It matches os.ErrClosed.
var ErrClosed = fmt.Errorf("blocking: pool closed: %w", os.ErrClosed)

// A Pool makes calls that block. The zero value is one with the zero Config. It must
// not be copied. All methods may be called from any goroutine, and at once.
//
// No call is left in the queue while a goroutine could take it. A goroutine that spins,
// or has ended its call, or was chosen from the idle ones or started, and has not looked
// into the queue since, is searching. Whoever queues a call, under the lock, has one search unless one does.
// Whoever takes one and leaves others does the same before it makes its call: so a
// burst wakes as many as it needs, one after the other, and short calls wake few. All
// look under the lock before they go idle or end. If nobody can be made to search, the
// limit is reached, and whoever ends a call looks.
type Pool struct {
	cfg    Config       // the zero value until set
	queued atomic.Int64 // calls in queue; written under mu
	slow   atomic.Int32 // calls that are not to be looked out for (do.go)
	away   atomic.Bool  // the thread that spins has given its processor away

	mu        lock
	set       bool // cfg has its defaults
	queue     list.List[job]
	idle      []*thread // the last is woken first, so that the first times out
	threads   int
	busy      int  // of them, those that make a call
	searching int  // of them, those that will look into the queue without being told
	spinning  bool // one of those spins
	spins     bool // that is worth it
	closed    bool
	drained   chan struct{} // closed when the pool is, and no thread is left; nil: nobody has asked
}

// A job is a call, whatever its result's type.
type job interface {
	run(t *thread)
	refuse(err error)
}

// New is a pool. It costs nothing until it is used.
func New(cfg Config) *Pool { return &Pool{cfg: cfg} }

// total is the number of threads of all pools.
var total atomic.Int64

// A promptness says what becomes of a job that was queued.
type promptness int

const (
	refused promptness = iota // the pool is closed
	later                     // a thread needs a processor for it first
	soon                      // threads are at work or search
	sooner                    // one spins and has nothing else to do
)

// submit queues a job.
func (p *Pool) submit(n *list.Node[job]) promptness {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return refused
	}
	if !p.set {
		p.cfg, p.set, p.spins = p.cfg.withDefaults(), true, true
	}
	p.queue.PushBack(n)
	p.queued.Store(int64(p.queue.Len()))
	spinning := p.spinning && p.queue.Len() == 1 && !p.away.Load()
	t, start := p.search()
	p.mu.Unlock()
	p.awaken(t, start)
	switch {
	case spinning:
		return sooner
	case t == nil && !p.away.Load():
		return soon
	default:
		return later
	}
}

// search has a thread search for the jobs in the queue, unless one does: an idle one or
// a new one, which the caller must awaken when it has given the lock back.
func (p *Pool) search() (t *thread, start bool) {
	if p.searching > 0 || p.queue.Len() == 0 {
		return nil, false
	}
	if last := len(p.idle) - 1; last >= 0 {
		t = p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
	} else if p.threads < p.cfg.MaxThreads && (p.threads == 0 || total.Load() < maxThreads) {
		t, start = &thread{wake: make(chan struct{}, 1)}, true
		p.threads++
		total.Add(1)
	} else {
		return nil, false
	}
	t.searching = true
	p.searching++
	return t, start
}

func (p *Pool) awaken(t *thread, start bool) {
	switch {
	case start:
		go p.serve(t)
	case t != nil:
		t.wake <- struct{}{} // there is room: nobody else has chosen it
	}
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
