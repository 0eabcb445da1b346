package blocking

import (
	"runtime"
	"slices"
	"time"
)

// A thread is a goroutine of a pool.
type thread struct {
	wake chan struct{} // what others choose it by, when it is idle
	keep *time.Timer   // nil: it has not been idle yet
	busy bool          // counted by the pool
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
		j.run()
	}
	left = true
}

// next waits for a job; nil: the thread is to end, and is not counted any more.
func (p *Pool) next(t *thread) job {
	p.mu.Lock()
	if t.busy {
		t.busy = false
		p.busy--
	}
	spun := false
	for {
		if j := p.take(); j != nil {
			t.busy = true
			p.busy++
			p.mu.Unlock()
			return j
		}
		if p.closed {
			p.leave()
			return nil
		}
		if p.spins && p.spinning == 0 && !spun {
			p.spinning++
			p.mu.Unlock()
			spun = !p.spin()
			p.mu.Lock()
			p.spinning--
			p.spins = p.spins && !spun
			continue
		}
		p.idle = append(p.idle, t)
		p.mu.Unlock()
		began := time.Now()
		woken := p.wait(t)
		p.mu.Lock()
		if woken {
			p.spins = p.spins || time.Since(began) < spinFor
			continue
		}
		if i := slices.Index(p.idle, t); i >= 0 {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.leave()
			return nil
		}
		p.mu.Unlock()
		<-t.wake // somebody has chosen it meanwhile
		p.mu.Lock()
	}
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
	spinFor  = 50 * time.Microsecond
	maxSpins = 1 << 16 // where time stands still, as in a bubble of testing/synctest
)

// spin reports whether there is a job.
func (p *Pool) spin() bool {
	if runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	began := time.Now()
	for n := 1; n < maxSpins; n++ {
		if p.queued.Load() != 0 {
			return true
		}
		if n%64 == 0 && time.Since(began) > spinFor {
			break
		}
	}
	return false
}
