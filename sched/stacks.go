package sched

import (
	"sync"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/goid"
	"github.com/suiro-go/suiro/internal/onworker"
)

// stacks are a worker's coroutines. Where coroutines move between workers (Config.locked is
// false), some workers end more tasks than they begin, and others begin more. So a worker with too
// many free coroutines gives half of them to the shared list. A worker without any takes some from
// there.
type stacks struct {
	free   []*coroutine // the last one is used next; the first one is ended when there are too many
	exited []*coroutine // coroutines after runtime.Goexit, whose end would also end the worker: used first
	fresh  []Context    // contexts for the next jobs

	mu   sync.Mutex
	made *coroutine // a list of the coroutines that this worker has created and that were not stopped
}

// sharedStacks are free coroutines that belong to no worker.
type sharedStacks struct {
	mu   atomics.Mutex
	free []*coroutine
}

// mostOwn limits the free coroutines of a worker. It is small enough that few lie unused, and
// large enough that the lock of the shared list is seldom taken.
const mostOwn = 32

// bounds are the largest numbers of free coroutines of a worker and of the shared list.
func (rt *Runtime) bounds() (own, shared int) {
	n := rt.cfg.Coroutines
	if rt.cfg.locked {
		return n, 0
	}
	own = min(n-n/2, mostOwn)
	return own, (n - own) * len(rt.workers)
}

// get returns a free coroutine, or a new one.
func (s *stacks) get(w *worker) *coroutine {
	w.count.Coroutines++
	if co := popLast(&s.exited); co != nil {
		return co
	}
	if len(s.free) == 0 && !w.rt.cfg.locked {
		s.take(w.rt)
	}
	if co := popLast(&s.free); co != nil {
		w.count.CoroutinesReused++
		return co
	}
	return newCoroutine(w)
}

// context returns the context of a new job. A context may be in use after the end of its job,
// because others were derived from it. So each job has its own, and several are made at once.
func (s *stacks) context() *Context {
	if len(s.fresh) == 0 {
		s.fresh = make([]Context, contextsAtOnce)
	}
	cx := &s.fresh[0]
	s.fresh = s.fresh[1:]
	return cx
}

const contextsAtOnce = 8

func popLast(list *[]*coroutine) *coroutine {
	n := len(*list)
	if n == 0 {
		return nil
	}
	co := (*list)[n-1]
	(*list)[n-1] = nil
	*list = (*list)[:n-1]
	return co
}

// take moves coroutines from the shared list to the worker: half of the worker's limit, or fewer.
func (s *stacks) take(rt *Runtime) {
	own, _ := rt.bounds()
	all := &rt.stacks
	all.mu.Lock()
	defer all.mu.Unlock()
	rest := max(0, len(all.free)-(own+1)/2)
	s.free = append(s.free, all.free[rest:]...)
	clear(all.free[rest:])
	all.free = all.free[:rest]
}

// put takes back a coroutine whose job is done. put may run on this very coroutine. So no other
// worker may get it before it has switched back to this worker.
func (s *stacks) put(w *worker, co *coroutine) {
	w.count.Coroutines--
	co.ignored = 0
	if co.exited {
		s.exited = append(s.exited, co)
		return
	}
	if own, _ := w.rt.bounds(); len(s.free) >= own {
		s.makeRoom(w.rt)
	}
	s.free = append(s.free, co)
}

// makeRoom gives half of the free coroutines to the shared list, or ends one.
func (s *stacks) makeRoom(rt *Runtime) {
	n := s.give(rt)
	if n == 0 {
		s.free[0].end()
		n = 1
	}
	left := copy(s.free, s.free[n:])
	clear(s.free[left:])
	s.free = s.free[:left]
}

// give moves as many coroutines to the shared list as there is room for, and returns their number.
func (s *stacks) give(rt *Runtime) int {
	own, shared := rt.bounds()
	all := &rt.stacks
	all.mu.Lock()
	defer all.mu.Unlock()
	n := min((own+1)/2, shared-len(all.free))
	all.free = append(all.free, s.free[:n]...)
	return n
}

// enter puts a coroutine into the list of the worker that has created it. The coroutine runs for
// the first time.
func (s *stacks) enter(co *coroutine) {
	onworker.Enter(co)
	co.id = goid.Get()
	number := goid.Number()
	s.mu.Lock()
	defer s.mu.Unlock()
	co.goroutine = number
	s.link(co)
}

func (s *stacks) link(co *coroutine) {
	if co.next = s.made; co.next != nil {
		co.next.prev = co
	}
	s.made = co
}

func (s *stacks) leave(co *coroutine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if co.prev != nil {
		co.prev.next = co.next
	} else {
		s.made = co.next
	}
	if co.next != nil {
		co.next.prev = co.prev
	}
	co.prev, co.next = nil, nil
}

func (s *stacks) all() (list []*coroutine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for co := s.made; co != nil; co = co.next {
		list = append(list, co)
	}
	return list
}

// end ends a coroutine that has no job. If a task has called runtime.Goexit in it, the calling
// goroutine exits as well, after its deferred calls.
func (co *coroutine) end() {
	co.maker.stacks.leave(co)
	co.stop()
}

// endStacks unwinds the tasks that wait, so that their deferred calls run, and then ends the free
// coroutines. A worker with a thread does both for the coroutines that it has created. Otherwise
// the last worker to leave its loop unwinds all tasks. Until then another worker may run them, and
// the coroutines within one task may come from several workers.
func (w *worker) endStacks() {
	last := w.inLoop && w.rt.inLoops.Add(-1) == 0
	switch {
	case w.rt.cfg.locked:
		w.unwindAll(w.stacks.all())
	case last:
		var all []*coroutine
		for _, v := range w.rt.team() {
			all = append(all, v.stacks.all()...)
		}
		w.unwindAll(all)
		w.stacks.free = append(w.stacks.free, w.rt.stacks.free...)
		w.rt.stacks.free = nil
	}
	for co := popLast(&w.stacks.free); co != nil; co = popLast(&w.stacks.free) {
		co.end()
	}
}

// enterLoop is for a spare worker. If all others have left their loops by then, the runtime is
// stopping, and the spare leaves its loop without a tick.
func (w *worker) enterLoop() {
	in := &w.rt.inLoops
	for n := in.Load(); n > 0; n = in.Load() {
		if in.CompareAndSwap(n, n+1) {
			w.inLoop = true
			return
		}
	}
}

// unwindAll unwinds the jobs of all coroutines. If a function that is called at the end of a task
// exits the goroutine, unwindAll goes on in a deferred call.
func (w *worker) unwindAll(all []*coroutine) {
	defer func() {
		if len(all) > 0 {
			w.unwindAll(all)
		}
	}()
	for len(all) > 0 {
		co := all[0]
		all = all[1:]
		if co.job == nil { // the coroutine is free
			continue
		}
		co.closing = true
		if c, ok := co.job.(*Coroutine); ok { // the worker must not end its task
			c.Resume(&w.cx)
			continue
		}
		if t := co.cx.task; t.state.seize() && co.resumeOn(w) { // a failure cannot happen: Await gives up
			w.dismiss(t)
			t.envelope().completed(nil, t.state.complete())
		}
	}
}

// endExited ends the coroutines in which a task has called runtime.Goexit.
func (s *stacks) endExited() {
	if co := popLast(&s.exited); co != nil {
		defer s.endExited()
		co.end()
	}
}
