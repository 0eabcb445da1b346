package sched

import "weak"

// Taps is the number of channels on which tasks wait, or whose value is kept.
func Taps() int {
	n := 0
	for i := range tapShards {
		s := &tapShards[i]
		s.mu.Lock()
		n += len(s.taps)
		s.mu.Unlock()
	}
	return n
}

func withTap[T any](ch <-chan T, f func(t *tap[T])) {
	s := shardOf(ch)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.taps[weak.Make(chanObject(ch))].(*tap[T]); ok {
		f(t)
	}
}

// TapWaiters is the number of tasks that wait on a channel.
func TapWaiters[T any](ch <-chan T) (n int) {
	withTap(ch, func(t *tap[T]) { n = t.waiters.Len() })
	return n
}

// TapHas reports whether a value was received and not yet taken.
func TapHas[T any](ch <-chan T) (has bool) {
	withTap(ch, func(t *tap[T]) { has = t.has })
	return has
}
