package blocking

import (
	"runtime"
	"slices"
	"time"
)

// A thread is a goroutine of a pool.
type thread struct {
	wake      chan struct{} // tells it that it was chosen, when it is idle
	keep      *time.Timer   // nil: it has not been idle yet
	searching bool          // counted by the pool
	busy      bool          // counted by the pool; not searching then
}

// serve is the goroutine. It is counted in threads already.
func (p *Pool) serve(t *thread) {
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

// next waits for a job; nil: the thread is to end, and is not counted any more.
func (p *Pool) next(t *thread) job {
	p.mu.Lock()
	for spun := false; ; {
		p.looked(t)
		if j := p.take(); j != nil {
			p.begin(t)
			return j
		}
		switch {
		case p.closed:
			p.leave()
			return nil
		case p.spins && !p.spinning && !spun:
			spun = p.lookOut(t)
		case !p.idleOut(t):
			p.leave()
			return nil
		}
	}
}

// begin says that the thread is about to make a call. The lock is held, and is not any
// more when it returns.
func (p *Pool) begin(t *thread) {
	t.busy = true
	p.busy++
	other, start := p.search()
	p.mu.Unlock()
	p.awaken(other, start)
}

// end says that its call has ended. This comes before the result is made known: whoever
// then makes the next call finds that this thread is there for it.
func (p *Pool) end(t *thread) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.busy = false
	p.busy--
	t.searching = true
	p.searching++
}

// goOn takes end back: there is more to do, which may block.
func (p *Pool) goOn(t *thread) {
	p.mu.Lock()
	p.looked(t)
	p.begin(t)
}

// looked says that the thread looks into the queue now. The lock is held.
func (p *Pool) looked(t *thread) {
	if t.searching {
		t.searching = false
		p.searching--
	}
}

// lookOut spins, and reports whether that was in vain. The lock is held, but not
// meanwhile.
func (p *Pool) lookOut(t *thread) (inVain bool) {
	p.spinning, t.searching = true, true
	p.searching++
	p.mu.Unlock()
	inVain = !p.spin()
	p.mu.Lock()
	p.spinning = false
	p.spins = p.spins && !inVain
	return inVain
}

// idleOut has the thread be idle until it is chosen; false: it was for too long. The
// lock is held, but not meanwhile.
func (p *Pool) idleOut(t *thread) (chosen bool) {
	p.idle = append(p.idle, t)
	p.mu.Unlock()
	began := time.Now()
	chosen = p.wait(t)
	p.mu.Lock()
	if chosen {
		p.spins = p.spins || time.Since(began) < worthSpinning
		return true
	}
	if i := slices.Index(p.idle, t); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		return false
	}
	p.mu.Unlock()
	<-t.wake // somebody has chosen it meanwhile
	p.mu.Lock()
	return true
}

// wait waits until the thread is woken; false: for too long.
func (p *Pool) wait(t *thread) (woken bool) {
	switch {
	case p.cfg.KeepAlive < 0:
		return false
	case t.keep == nil:
		t.keep = time.NewTimer(p.cfg.KeepAlive)
	default:
		t.keep.Reset(p.cfg.KeepAlive)
	}
	select {
	case <-t.wake:
		t.keep.Stop()
		return true
	case <-t.keep.C:
		return false
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

// spinFor is how long a thread that has run out of jobs looks out for the next one
// before it goes idle: about what it costs to be woken. One thread does so at a
// time, and none after it was of no use, until one that went idle was woken so soon
// that it would have been.
const (
	spinFor = 100 * time.Microsecond
	// A thread that was idle for less than this would have found a job by spinning: who
	// has to be woken takes long, and so does whoever had to be woken to submit it.
	worthSpinning = 2 * spinFor

	spinsAlone = 1 << 11 // before others may have the processor
	maxSpins   = 1 << 17 // where time stands still, as in a bubble of testing/synctest
)

// spin reports whether there is a job. Somebody whom the last job's end has woken may
// wait for this very processor: it gets it if there is no job within a few
// microseconds.
func (p *Pool) spin() bool {
	if runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	began := time.Now()
	for n := 1; n < maxSpins; n++ {
		if p.queued.Load() != 0 {
			return true
		}
		if n == spinsAlone {
			p.away.Store(true)
			runtime.Gosched()
			p.away.Store(false)
		}
		if n%64 == 0 && time.Since(began) > spinFor {
			break
		}
	}
	return false
}
