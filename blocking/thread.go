package blocking

import "time"

// A thread is a goroutine of a pool.
type thread struct {
	wake      chan struct{} // tells it that it was chosen, when it is idle
	since     int           // the pool's period in which it became idle
	dismissed bool          // it was idle for long enough
	searching bool          // counted by the pool
	busy      bool          // counted by the pool; not searching then
	lingers   bool          // counted by the pool; searching as well
	fresh     bool          // the call it makes is the first since it looked
	company   company
	job       job // what it makes next; it is busy with that already
}

// serve is the goroutine. It is counted in threads already.
func (p *Pool) serve(t *thread) {
	if t.wake == nil { // here, where it belongs to the bubble of the goroutine, or to none
		t.wake = make(chan struct{}, 1)
	}
	left := false
	defer func() {
		if !left { // a job has ended the goroutine: another one goes on in its stead
			go p.serve(t)
		}
	}()
	for j := p.next(t); j != nil; j = p.next(t) {
		j.run(t)
	}
	left = true
}

// next is the job the thread has taken, or waits for one; nil: the thread is to end, and
// is not counted any more.
func (p *Pool) next(t *thread) job {
	if j := t.job; j != nil {
		t.job = nil
		return j
	}
	if t.lingers {
		t.company.await()
	}
	t.fresh = true
	p.mu.Lock()
	for {
		p.looked(t)
		if j := p.take(); j != nil {
			t.busy = true
			p.busy++
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

// end says that the thread's call has ended. It goes on with the next one if there is
// one, and it may then be for the caller to awaken another thread. Else it is going to
// look once more. This comes before the result is made known: whoever then makes the
// next call finds that this thread is there for it. The lock is held.
func (p *Pool) end(t *thread) (other *thread, start bool) {
	if t.job = p.take(); t.job != nil {
		t.fresh = false
		return p.search()
	}
	t.busy = false
	p.busy--
	t.searching = true
	p.searching++
	if t.fresh && t.company.expected() && p.cfg.KeepAlive > 0 {
		t.lingers = true
		p.lingering++
	}
	return nil, false
}

// looked says that the thread looks into the queue now. The lock is held.
func (p *Pool) looked(t *thread) {
	if t.searching {
		t.searching = false
		p.searching--
	}
	if t.lingers {
		t.lingers = false
		p.lingering--
		t.company.came(p.queue.Len() > 0)
		if t.company.untimed == 0 && p.keeping && len(p.idle) == 0 {
			// With a timer that is set, whatever it is for, Go's scheduler reads the clock
			// whenever it looks for a goroutine: twice in a round trip.
			p.keep.Stop()
			p.keeping = false
		}
	}
}

// idleOut has the thread be idle until it is chosen, or dismissed. The lock is held, but
// not meanwhile.
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

// A thread's time is counted in parts of the keep-alive: one timer for all, which goes on
// while any is idle, costs an idle thread nothing. It is idle for KeepAlive at least,
// and a part of it longer at most.
const periods = 4

// dismiss ends a period, and the threads that were idle since before the last few.
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

// leave counts the thread out, and gives the lock back.
func (p *Pool) leave() {
	p.threads--
	total.Add(-1)
	if p.threads == 0 && p.closed && p.drained != nil {
		close(p.drained)
		p.drained = nil
	}
	p.mu.Unlock()
}
