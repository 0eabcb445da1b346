package reactor

import (
	"sync"
	"sync/atomic"
)

// A handIn is a list to which any goroutine adds and from which one at a time takes. To see that it
// is empty costs one load, so the taker can check often.
type handIn[T any] struct {
	len   atomic.Int32
	mu    sync.Mutex
	list  []T
	taken []T // belongs to the taker: becomes list with the next take
}

func (h *handIn[T]) add(v T) {
	h.mu.Lock()
	h.list = append(h.list, v)
	h.len.Store(int32(len(h.list)))
	h.mu.Unlock()
}

// addAll adds the values of f for 0 to n-1 for which ok is true.
func (h *handIn[T]) addAll(n int, f func(i int) (v T, ok bool)) {
	h.mu.Lock()
	defer func() { // also if f panics
		h.len.Store(int32(len(h.list)))
		h.mu.Unlock()
	}()
	for i := range n {
		if v, ok := f(i); ok {
			h.list = append(h.list, v)
		}
	}
}

// take empties the list. Its result is valid until the next call.
func (h *handIn[T]) take() []T {
	if h.len.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	h.list, h.taken = h.taken[:0], h.list
	h.len.Store(0)
	h.mu.Unlock()
	return h.taken
}

// sift removes the values for which f returns true. f may change the others. Any goroutine may call
// it.
func (h *handIn[T]) sift(f func(v *T) bool) {
	if h.len.Load() == 0 {
		return
	}
	h.mu.Lock()
	kept := h.list[:0]
	for i := range h.list {
		if !f(&h.list[i]) {
			kept = append(kept, h.list[i])
		}
	}
	clear(h.list[len(kept):])
	h.list = kept
	h.len.Store(int32(len(h.list)))
	h.mu.Unlock()
}
