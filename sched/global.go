package sched

import "github.com/suiro-go/suiro/internal/atomics"

// A globalQueue takes what comes from outside the workers, and what does not
// fit into a worker's ring.
type globalQueue struct {
	len atomics.Int64 // of list; read without the lock

	mu     atomics.Mutex
	list   taskList
	closed bool
}

// push queues a task; false: the queue is closed, and the task was not taken.
func (q *globalQueue) push(t *Task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.list.push(t)
	q.len.Store(int64(q.list.len))
	return true
}

// pushBatch queues all of a list. A closed queue drops it: those are tasks that
// the end of the runtime finds elsewhere.
func (q *globalQueue) pushBatch(l *taskList) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.list.pushAll(l)
	q.len.Store(int64(q.list.len))
}

// pop takes the oldest task, nil if there is none.
func (q *globalQueue) pop() *Task {
	if q.len.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.list.pop()
	q.len.Store(int64(q.list.len))
	return t
}

// popBatch moves the oldest tasks, at most n, to a ring that has room for them
// and belongs to the caller. They are to be seen there before they cease to be
// seen here: a worker that looks here and then into the rings, and goes to sleep
// if there is nothing, must not miss them.
func (q *globalQueue) popBatch(to *ring, n int) (moved int) {
	if n <= 0 || q.len.Load() == 0 {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var l taskList
	for range n {
		t := q.list.pop()
		if t == nil {
			break
		}
		l.push(t)
	}
	moved = l.len
	to.pushAll(&l)
	q.len.Store(int64(q.list.len))
	return moved
}

// close refuses further tasks and forgets those queued.
func (q *globalQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.list = taskList{}
	q.len.Store(0)
}

// fairBatch is how many tasks a worker fetches at a time: its share of the
// queue, within bounds, and all there are if that is fewer.
func fairBatch(queued, workers int) int {
	return min(queued, max(4, min(queued/workers, batchSize)))
}
