package sched

import (
	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A globalQueue takes tasks that are woken from outside the workers, and tasks that do not fit
// into a worker's ring.
//
// It has two lists with a lock each. So a push never waits for a worker that walks along a batch
// of tasks, which may be in another processor's cache. If the out list is empty, the in list moves
// there as a whole.
type globalQueue struct {
	len atomics.Int64 // of both lists; read without the locks
	_   [2]cpu.CacheLinePad

	inMu   atomics.Mutex
	in     taskList
	closed bool
	_      [2]cpu.CacheLinePad

	outMu atomics.Mutex // locked before inMu
	out   taskList      // older than all tasks of in
}

// push queues a task. false: the queue is closed, and the task was not taken.
func (q *globalQueue) push(t *Task) bool {
	atomics.Lock(&q.inMu)
	if q.closed {
		q.inMu.Unlock()
		return false
	}
	q.in.push(t)
	q.len.Add(1)
	q.inMu.Unlock()
	return true
}

// pushBatch queues all tasks of a list. A closed queue drops them: the end of the runtime finds
// these tasks elsewhere.
func (q *globalQueue) pushBatch(l *taskList) {
	atomics.Lock(&q.inMu)
	defer q.inMu.Unlock()
	if q.closed {
		return
	}
	n := l.len
	q.in.pushAll(l)
	q.len.Add(int64(n))
}

// pop takes the oldest task, or nil if there is none.
func (q *globalQueue) pop() *Task {
	if q.len.Load() == 0 {
		return nil
	}
	atomics.Lock(&q.outMu)
	defer q.outMu.Unlock()
	t := q.oldest()
	if t != nil {
		q.len.Add(-1)
	}
	return t
}

// oldest takes the oldest task, and leaves len unchanged. outMu is held.
func (q *globalQueue) oldest() *Task {
	if q.out.head == nil {
		atomics.Lock(&q.inMu)
		q.out.pushAll(&q.in)
		q.inMu.Unlock()
	}
	return q.out.pop()
}

// popBatch moves the oldest n tasks, or fewer, to a ring that belongs to the caller and has room
// for them. They become visible there before they disappear here. Otherwise a worker that checks
// here, then the rings, and then sleeps could miss them.
func (q *globalQueue) popBatch(to *ring, n int) (moved int) {
	if n <= 0 || q.len.Load() == 0 {
		return 0
	}
	atomics.Lock(&q.outMu)
	defer q.outMu.Unlock()
	var l taskList
	for range n {
		t := q.oldest()
		if t == nil {
			break
		}
		l.push(t)
	}
	moved = l.len
	to.pushAll(&l)
	q.len.Add(int64(-moved))
	return moved
}

// close refuses further tasks and drops the queued ones.
func (q *globalQueue) close() {
	q.outMu.Lock()
	defer q.outMu.Unlock()
	q.inMu.Lock()
	defer q.inMu.Unlock()
	q.closed = true
	q.in, q.out = taskList{}, taskList{}
	q.len.Store(0)
}

// fairBatch is the number of tasks that a worker fetches at a time: its share of the queue, within
// bounds, and at most all of them.
func fairBatch(queued, workers int) int {
	return min(queued, max(4, min(queued/workers, batchSize)))
}
