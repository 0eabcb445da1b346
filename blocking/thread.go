package blocking

import (
	"time"

	"github.com/suiro-go/suiro/internal/background"
)

// A thread is a goroutine of a pool.
type thread struct {
	wake      chan struct{} // signals an idle thread that it was chosen
	since     int           // the pool's period in which it became idle
	dismissed bool          // it was idle for long enough, and must end
	searching bool          // counted by the pool
	busy      bool          // counted by the pool; not searching then
	lingers   bool          // counted by the pool; searching as well
	fresh     bool          // its call is the first since it looked into the queue
	linger    lingerPolicy
	job       job // its next call; the thread counts as busy with it
}

// serve is the goroutine of a thread. It is already counted in threads.
func (p *Pool) serve(t *thread) {
	if t.wake == nil { // made here: it belongs to the bubble of the goroutine, or to none
		t.wake = make(chan struct{}, 1)
	}
	left := false
	defer func() {
		if !left { // a job has exited the goroutine: another one replaces it
			go p.serve(t)
		}
	}()
	background.Unlabel()
	for j := p.next(t); j != nil; j = p.next(t) {
		j.run(t)
		background.Unlabel() // a call may leave its labels behind
	}
	left = true
}

// next returns the job that the thread has taken, or waits for one. nil: the thread must end, and
// is no longer counted.
func (p *Pool) next(t *thread) job {
	if j := t.job; j != nil {
		t.job = nil
		return j
	}
	if t.lingers {
		t.linger.yield()
	}
	t.fresh = true
	p.mu.Lock()
	for {
		p.looked(t)
		if j := p.take(); j != nil {
			t.busy = true
			p.busy++
			p.made++
			other, start := p.search()
			p.mu.Unlock()
			p.awaken(other, start)
			return j
		}
		if p.closed || t.dismissed || p.cfg.KeepAlive < 0 {
			p.leave()
			return nil
		}
		p.idleOut(t)
	}
}

// end records that the thread's call has ended. The thread goes on with the next call if there is
// one; the caller may then have to awaken another thread. Otherwise the thread will look into the
// queue once more. This happens before the result is published. So the next call, which is made
// after that, finds this thread waiting. The lock is held.
func (p *Pool) end(t *thread) (other *thread, start bool) {
	if t.job = p.take(); t.job != nil {
		p.made++
		t.fresh = false
		return p.search()
	}
	t.busy = false
	p.busy--
	t.searching = true
	p.searching++
	if t.fresh && t.linger.shouldLinger() && p.cfg.KeepAlive > 0 {
		t.lingers = true
		p.lingering++
	}
	return nil, false
}

// looked records that the thread looks into the queue now. The lock is held.
func (p *Pool) looked(t *thread) {
	if t.searching {
		t.searching = false
		p.searching--
	}
	if t.lingers {
		t.lingers = false
		p.lingering--
		t.linger.record(p.queue.Len() > 0)
		if t.linger.untimed == 0 && p.keeping && len(p.idle) == 0 {
			// While any timer is set, Go's scheduler reads the clock whenever it looks for a
			// goroutine: twice in a round trip.
			p.keep.Stop()
			p.keeping = false
		}
	}
}

// idleOut makes the thread idle until it is chosen or dismissed. The lock is held, but not during
// the wait.
func (p *Pool) idleOut(t *thread) {
	t.since = p.period
	p.idle = append(p.idle, t)
	if p.keep == nil {
		p.keep = time.AfterFunc(p.cfg.KeepAlive/periods, p.dismiss)
	} else if !p.keeping {
		p.keep.Reset(p.cfg.KeepAlive / periods)
	}
	p.keeping = true
	p.mu.Unlock()
	<-t.wake
	p.mu.Lock()
}

// Idle time is counted in fractions of the keep-alive. One timer serves all threads, and runs
// while any is idle, so an idle thread costs nothing. A thread is idle for at least KeepAlive, and
// for one fraction longer at most.
const periods = 4

// dismiss ends a period, and the threads that have been idle for long enough.
func (p *Pool) dismiss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.period++
	n := 0
	for n < len(p.idle) && p.period-p.idle[n].since > periods {
		p.idle[n].dismissed = true
		p.idle[n].wake <- struct{}{}
		n++
	}
	p.idle = append(p.idle[:0], p.idle[n:]...)
	clear(p.idle[len(p.idle):cap(p.idle)])
	p.keeping = len(p.idle) > 0 && !p.closed
	if p.keeping {
		p.keep.Reset(p.cfg.KeepAlive / periods)
	}
}

// leave removes the thread from the count, and releases the lock.
func (p *Pool) leave() {
	p.threads--
	total.Add(-1)
	if p.threads == 0 && p.closed && p.drained != nil {
		close(p.drained)
		p.drained = nil
	}
	p.mu.Unlock()
}
