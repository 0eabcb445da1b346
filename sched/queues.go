package sched

// hasWork reports that there is a task to run without searching.
func (w *worker) hasWork() bool {
	return w.first != nil || w.pinned.head != nil || w.deferred.head != nil ||
		w.queue.len() > 0 || w.lifo.Load() != nil || w.batch.len() > 0
}

// drainInbox queues the tasks that others gave this worker.
func (w *worker) drainInbox() {
	if w.inbox.len.Load() == 0 {
		return
	}
	w.inbox.Lock()
	list := w.inbox.list
	w.inbox.list = taskList{}
	w.inbox.len.Store(0)
	w.inbox.Unlock()
	w.enqueueAll(&list)
}

// enqueueAll queues a list of tasks.
func (w *worker) enqueueAll(list *taskList) {
	for t := list.pop(); t != nil; t = list.pop() {
		w.enqueue(t)
	}
}

// enqueue puts a task at the end of the worker's queue.
func (w *worker) enqueue(t *Task) {
	switch {
	case t.home == w:
		w.pinned.push(t)
	case t.home != nil: // its run has pinned it to another worker
		t.home.inject(t)
	case w.queue.push(t, &w.rt.global):
		w.count.Overflows++
		w.rt.notify()
	}
}

// enqueueYielded queues a task that must not run before the next poll of the driver. In the queue
// others can steal it, should this worker get stuck.
func (w *worker) enqueueYielded(t *Task) {
	if t.home == w {
		w.deferred.push(t)
		return
	}
	if !w.marked {
		w.marked, w.mark = true, w.queue.tail.Load()
	}
	w.beUrgent()
	w.enqueue(t)
}

// wake queues a task that this worker's goroutine has woken. If a running task has woken it, it
// goes to lifo and runs next. The task that was in lifo has been waiting, and goes to the queue,
// where others may steal it.
func (w *worker) wake(t *Task) {
	w.wakes(t)
	if w.events != nil {
		w.note(EventWake, t, 0)
	}
	if t.home != nil || !w.running {
		w.enqueue(t)
		return
	}
	if last := w.lifo.Swap(t); last != nil {
		w.enqueue(last)
		w.offer()
	}
}

// offer lets others steal from the queue, and wakes an idle worker for that.
func (w *worker) offer() {
	w.beUrgent()
	w.rt.notify()
}

func (w *worker) beUrgent() {
	if !w.urgent.Load() { // others read it often, so it is written only if it changes
		w.urgent.Store(true)
	}
}

// next takes the next task to run. The order is: tasks fetched from the global queue, lifo, then
// the queues in turns. lifo is used at most maxLIFO times in a row; otherwise two tasks that wake
// each other would keep all others from running (tokio #5686).
func (w *worker) next() *Task {
	if w.adapt.globalDue() {
		w.fetch(fairBatch(int(w.rt.global.len.Load()), len(w.rt.workers)))
	}
	if t := w.first; t != nil {
		w.first = nil
		return t
	}
	if t := w.batch.pop(); t != nil {
		w.lifoRuns = 0
		return t
	}
	if w.lifo.Load() != nil {
		if t := w.lifo.Swap(nil); t != nil {
			if w.lifoRuns < maxLIFO {
				w.lifoRuns++
				w.count.LIFOHits++
				return t
			}
			w.enqueue(t) // it is found below if there is nothing else
		}
	}
	w.lifoRuns = 0
	w.pinnedDue = !w.pinnedDue
	if w.pinnedDue {
		if t := w.pinned.pop(); t != nil {
			return t
		}
	}
	if !w.marked || w.queue.before(w.mark) {
		if t := w.queue.pop(); t != nil {
			return t
		}
	}
	if t := w.pinned.pop(); t != nil {
		return t
	}
	if w.rt.global.len.Load() > 0 && w.fetch(idleBatch) {
		return w.batch.pop()
	}
	return nil
}

const (
	maxLIFO   = 3
	idleBatch = 32 // tasks that a worker without tasks fetches from the global queue
)

// fetch moves tasks from the global queue to the batch buffer.
func (w *worker) fetch(n int) bool {
	if w.rt.global.popBatch(&w.batch, min(n, w.batch.room())) == 0 {
		return false
	}
	w.count.BatchFetches++
	return true
}
