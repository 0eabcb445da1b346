package reactor

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A handIn is a list that any goroutine adds to and one at a time takes from.
// Finding it empty costs a load, so that the taker can look often.
type handIn[T any] struct {
	len   atomic.Int32
	mu    sync.Mutex
	list  []T
	taken []T // the taker's: becomes list with the next take
}

func (h *handIn[T]) add(v T) {
	h.mu.Lock()
	h.list = append(h.list, v)
	h.len.Store(int32(len(h.list)))
	h.mu.Unlock()
}

// addAll adds what f says, of 0 to n-1.
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

// take empties the list. What it returns is valid until the next call.
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

// sift takes those out that f says true of. Any goroutine.
func (h *handIn[T]) sift(f func(v T) bool) {
	if h.len.Load() == 0 {
		return
	}
	h.mu.Lock()
	h.list = slices.DeleteFunc(h.list, f)
	h.len.Store(int32(len(h.list)))
	h.mu.Unlock()
}
