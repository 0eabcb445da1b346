package blocking

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
)

// ErrClosed is the result of calls that a pool did not make because it has been shut
// down. It matches os.ErrClosed.
var ErrClosed = fmt.Errorf("blocking: pool closed: %w", os.ErrClosed)

// A Pool makes calls that block. The zero value is one with the zero Config. It must
// not be copied. All methods may be called from any goroutine, and at once.
//
// No call is left in the queue while a goroutine could take it. A goroutine that has
// ended its call, or was chosen from the idle ones or started, and has not looked into
// the queue since, is searching. Whoever queues a call, under the lock, has one search unless one does.
// Whoever takes one and leaves others does the same before it makes its call: so a
// burst wakes as many as it needs, one after the other, and short calls wake few. All
// look under the lock before they go idle or end. If nobody can be made to search, the
// limit is reached, and whoever ends a call looks. One that lingers (see company) may be
// late, so it is counted for one call only.
type Pool struct {
	cfg   Config    // the zero value until set
	calls sync.Pool // not in use

	mu        lock
	set       bool // cfg has its defaults, and outside is known
	outside   bool // no goroutine of it belongs to a bubble of testing/synctest
	queue     list.List[job]
	idle      []*thread // the last is woken first, so that the first times out
	threads   int
	busy      int // of them, those that make a call
	searching int // of them, those that will look into the queue without being told
	lingering int // of these, those that let others run before
	period    int // counts parts of the keep-alive
	keep      *time.Timer
	keeping   bool // it is set
	closed    bool
	drained   chan struct{} // closed when the pool is, and no thread is left; nil: nobody has asked
}

// A job is a call, whatever its result's type.
type job interface {
	run(t *thread)
	refuse(err error)
}

// New is a pool. It costs nothing until it is used.
func New(cfg Config) *Pool {
	p := &Pool{cfg: cfg}
	p.setUp()
	return p
}

// setUp comes once: in New, or with the lock held when a zero value is first used.
func (p *Pool) setUp() { p.cfg, p.outside, p.set = p.cfg.withDefaults(), !bubble.In(), true }

// total is the number of threads of all pools.
var total atomic.Int64

// submit queues a job, and returns a thread for the caller to awaken. The lock is held,
// and the pool is not closed.
func (p *Pool) submit(n *list.Node[job]) (t *thread, start bool) {
	p.queue.PushBack(n)
	return p.search()
}

// search has a thread search for the jobs in the queue, unless one does: an idle one or
// a new one, which the caller must awaken when it has given the lock back.
func (p *Pool) search() (t *thread, start bool) {
	if p.searching > p.lingering || p.queue.Len() <= p.lingering {
		return nil, false
	}
	if last := len(p.idle) - 1; last >= 0 {
		t = p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
	} else if p.threads < p.cfg.MaxThreads && (p.threads == 0 || total.Load() < maxThreads) {
		t, start = new(thread), true
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
	case start && p.outside:
		bubble.Go(func() { p.serve(t) })
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
	p.queue.Remove(n)
	return j
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
func (p *Pool) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.Len()
}
