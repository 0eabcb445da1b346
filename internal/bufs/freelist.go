package bufs

// A FreeList keeps what a worker's connections need for moments, all of it zero values.
type FreeList[T any] struct{ items []*T }

const keepFree = 256

// Len is the number of items.
func (l *FreeList[T]) Len() int { return len(l.items) }

func (l *FreeList[T]) Get() *T {
	n := len(l.items)
	if n == 0 {
		return new(T)
	}
	t := l.items[n-1]
	l.items = l.items[:n-1]
	return t
}

func (l *FreeList[T]) Put(t *T) {
	if len(l.items) < keepFree {
		l.items = append(l.items, t)
	}
}
