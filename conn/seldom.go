package conn

import (
	"sync/atomic"
	"time"
)

// A seldom lets a line that repeats into the log at most once a second. The zero value lets the
// first one in. Any goroutine may use it.
type seldom struct{ last atomic.Int64 } // in nanoseconds since 1970

// due reports whether the line may be logged now, and counts it as logged if so.
func (s *seldom) due() bool {
	now := time.Now().UnixNano()
	last := s.last.Load()
	return now-last >= int64(time.Second) && s.last.CompareAndSwap(last, now)
}
