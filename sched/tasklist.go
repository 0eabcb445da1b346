package sched

// A taskList is a FIFO queue of tasks, linked through Task.next.
type taskList struct {
	head, tail *Task
	len        int
}

func (l *taskList) push(t *Task) {
	t.next = nil
	if l.head == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.len++
}

func (l *taskList) pop() *Task {
	t := l.head
	if t == nil {
		return nil
	}
	if l.head = t.next; l.head == nil {
		l.tail = nil
	}
	t.next = nil
	l.len--
	return t
}

// pushAll moves every task of another list to the end of this one.
func (l *taskList) pushAll(from *taskList) {
	if from.head == nil {
		return
	}
	if l.head == nil {
		l.head = from.head
	} else {
		l.tail.next = from.head
	}
	l.tail = from.tail
	l.len += from.len
	*from = taskList{}
}
