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

// No call waits in the queue while a goroutine could take it. A goroutine is searching if it will
// look into the queue: it has ended its call, was chosen from the idle ones, or was started, and
// has not looked since. A caller that queues a call, under the lock, makes one goroutine search
// unless one is searching. A thread that takes a call and leaves others in the queue does the same
// before it makes its call. So a burst wakes as many as it needs, one after the other, and short
// calls wake few. All threads look under the lock before they become idle or end. If no thread can
// be made to search, the limit is reached, and each thread looks when its call ends. A thread that
// lingers (see lingerPolicy) may be late, so it counts for one call only.

// A Pool makes calls that block. The zero value uses the zero Config. It must not be copied. All
// methods may be called from any goroutine, and concurrently. No call waits in the queue while a
// goroutine could take it.
type Pool struct {
	cfg   Config    // the zero value until set
	calls sync.Pool // unused calls

	mu        lock
	set       bool // cfg has its defaults, and outside is known
	outside   bool // no goroutine of it belongs to a bubble of testing/synctest
	queue     list.List[job]
	idle      []*thread // the last one is woken first, so that the first one times out
	threads   int
	busy      int    // threads that make a call
	made      uint64 // calls that have begun
	searching int    // threads that will look into the queue without being woken
	lingering int    // searching threads that let other goroutines run first
	period    int    // counts fractions of the keep-alive
	keep      *time.Timer
	keeping   bool // keep is running
	closed    bool
	drained   chan struct{} // closed when the pool is closed and no thread is left; nil: not requested
}

// A job is a call, with a result of any type.
type job interface {
	run(t *thread)
	refuse(err error)
}

// New returns a pool. It costs nothing until it is used.
func New(cfg Config) *Pool {
	p := &Pool{cfg: cfg}
	p.setUp()
	return p
}

// setUp is called once: in New, or with the lock held at the first use of a zero value.
func (p *Pool) setUp() { p.cfg, p.outside, p.set = p.cfg.withDefaults(), !bubble.In(), true }

// total is the number of threads of all pools.
var total atomic.Int64

// submit queues a job, and returns a thread for the caller to awaken. The lock is held,
// and the pool is not closed.
func (p *Pool) submit(n *list.Node[job]) (t *thread, start bool) {
	p.queue.PushBack(n)
	return p.search()
}

// search makes a thread search for queued jobs, unless one is searching. It returns an idle thread
// or a new one, which the caller must awaken after it has released the lock.
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

// take takes the oldest job of the queue, or nil if there is none. The lock is held.
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

// IdleCount is the number of the pool's goroutines that make no call.
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
