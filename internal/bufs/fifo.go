package bufs

// A FIFO is a queue: the item that was pushed first is popped first. The zero value is empty. It is
// for one goroutine at a time.
type FIFO[T any] struct {
	items []T // the first is at head
	head  int
}

// Len is how many items there are.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head }

// Push adds an item behind the others.
func (q *FIFO[T]) Push(t T) {
	if len(q.items) == cap(q.items) && 2*q.head > len(q.items) { // it may never be empty: then Pop does not begin anew
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, t)
}

// Pop removes the first item. There must be one.
func (q *FIFO[T]) Pop() T {
	var none T
	t := q.items[q.head]
	q.items[q.head] = none
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return t
}

// Take removes all items, and returns them in their order.
func (q *FIFO[T]) Take() []T {
	all := q.items[q.head:]
	q.items, q.head = nil, 0
	return all
}
