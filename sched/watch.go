package sched

import (
	"sync"
	"sync/atomic"
	"time"
)

// A watch looks after workers that are stuck in a long task: what waits behind
// it, in their queues and in their drivers, is taken over by others.
//
// Any worker looks at most every watchFast, in its tick. For when all that run
// are stuck, parked ones stand on post: they wake up after watchFast, backing
// off to watchSlow while nobody is stuck. Two are enough; the others sleep
// without a limit, and so do all when nobody has run for a while. A worker that
// becomes busy then calls one of them to its post, before it runs anything.
//
// No stuck worker goes unnoticed for ever. One that leaves its park to work gives
// up its own post, and then looks whether somebody stands on one and else whether
// somebody is asleep to be called. One that goes to sleep is counted as asleep,
// and then looks once more whether it is needed. So one sees the other.
type watch struct {
	at     atomic.Int64 // Runtime.Now of the last look
	posts  atomic.Int32 // workers on post
	asleep atomic.Int32 // parked workers that sleep without a limit
	mu     sync.Mutex   // one looks at a time
}

const (
	watchFast  = time.Millisecond / 2
	watchSlow  = 10 * time.Millisecond
	stuckAfter = time.Millisecond
	maxPosts   = 2
	quietPosts = 10 // posts in vain, one after the other, until a worker sleeps
)

// A post is a worker's own part of the watch.
type post struct {
	duty  atomic.Uint32 // asleep may become onPost by another's hand; all else is its own
	every time.Duration // how long it sleeps on post
	quiet int           // how often nobody else was running when it took it
}

const (
	offDuty = iota
	onPost
	asleep
)

// takePost returns how long a worker that blocks may sleep for the others' sake:
// 0 without a limit.
func (w *worker) takePost() time.Duration {
	rt, p := w.rt, &w.post
	if len(rt.workers) == 1 || rt.cfg.endless {
		return 0
	}
	if rt.idle.parked() < len(rt.workers) {
		p.quiet = 0
	} else {
		p.quiet++
	}
	if p.duty.Load() == onPost && p.quiet > quietPosts {
		w.leavePost()
	}
	if p.duty.Load() == offDuty {
		if w.postVacant() {
			p.duty.Store(onPost)
			rt.watch.posts.Add(1)
		} else {
			p.duty.Store(asleep)
			rt.watch.asleep.Add(1)
			if !w.postVacant() {
				return 0
			}
			rt.watch.call(w)
		}
	}
	p.every = min(watchSlow, max(watchFast, 2*p.every))
	return p.every
}

func (w *worker) postVacant() bool {
	rt := w.rt
	return rt.watch.posts.Load() < maxPosts && (w.post.quiet <= quietPosts || rt.idle.parked() < len(rt.workers))
}

// call puts a sleeping worker on post, and reports whether it was asleep.
func (s *watch) call(w *worker) bool {
	if !w.post.duty.CompareAndSwap(asleep, onPost) {
		return false
	}
	s.posts.Add(1)
	s.asleep.Add(-1)
	return true
}

// wakeUp ends a worker's sleep. One that was called meanwhile is on post.
func (w *worker) wakeUp() {
	if w.post.duty.Load() == asleep && w.post.duty.CompareAndSwap(asleep, offDuty) {
		w.rt.watch.asleep.Add(-1)
	}
}

func (w *worker) leavePost() {
	if w.post.duty.Load() == onPost {
		w.post.duty.Store(offDuty)
		w.rt.watch.posts.Add(-1)
	}
}

// toWork is called when the worker has left its park and is about to run tasks or
// to search for some: it may get stuck in the first.
func (w *worker) toWork() {
	rt := w.rt
	if len(rt.workers) == 1 {
		return
	}
	w.leavePost()
	w.post.quiet, w.post.every = 0, 0
	if rt.watch.asleep.Load() == 0 || rt.watch.posts.Load() > 0 {
		return
	}
	for _, v := range rt.workers {
		if v != w && rt.watch.call(v) {
			v.unpark()
			return
		}
	}
}

// look is watch in the tick of a worker that runs.
func (w *worker) look() {
	if w.now-time.Duration(w.rt.watch.at.Load()) >= watchFast {
		w.watch()
	}
}

// watch takes over what waits behind workers that are stuck, and reports whether
// there was anything.
func (w *worker) watch() (found bool) {
	rt := w.rt
	if len(rt.workers) == 1 || rt.cfg.endless || !rt.watch.mu.TryLock() {
		return false
	}
	defer rt.watch.mu.Unlock()
	rt.watch.at.Store(int64(w.now))
	for _, v := range rt.workers {
		if v != w && !v.gone.Load() && !rt.idle.isParked(v.index) && w.now-time.Duration(v.tickAt.Load()) >= stuckAfter {
			w.post.every = 0 // look again soon
			found = w.relieve(v) || found
		}
	}
	return found
}

// relieve takes from a stuck worker: half of its queues, its lifo slot, what
// others gave it that is not pinned to it, and what its driver has completed.
func (w *worker) relieve(v *worker) (found bool) {
	if w.first == nil && (w.takeFrom(&v.queue) || w.takeFrom(&v.batch)) {
		found = true
		w.rt.notify() // for a moment they were to be seen nowhere
	}
	if t := v.lifo.Swap(nil); t != nil {
		w.enqueue(t)
		w.count.Stolen++
		found = true
	}
	if v.inbox.len.Load() > 0 {
		found = w.relieveInbox(v) || found
	}
	if r, ok := v.driver.(Rescuer); ok {
		if n := r.Rescue(&w.cx); n > 0 {
			w.count.Rescues++
			w.count.Rescued += uint64(n)
			found = true
		}
	}
	return found
}

// relieveInbox takes the tasks from a worker's inbox that any may run.
func (w *worker) relieveInbox(v *worker) (found bool) {
	var pinned taskList
	v.inbox.Lock()
	if v.gone.Load() { // its tasks are being ended, and their memory used again
		v.inbox.Unlock()
		return false
	}
	list := v.inbox.list
	v.inbox.list = taskList{}
	var taken taskList
	for t := list.pop(); t != nil; t = list.pop() {
		if t.home != nil {
			pinned.push(t)
		} else {
			taken.push(t)
		}
	}
	v.inbox.list = pinned
	v.inbox.len.Store(int64(pinned.len))
	v.inbox.Unlock()
	found = taken.head != nil
	w.count.Stolen += uint64(taken.len)
	w.enqueueAll(&taken)
	return found
}
