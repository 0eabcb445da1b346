// Package seldom limits how often a log line repeats. A Limiter lets a line pass at most once a
// second.
package seldom

import (
	"sync/atomic"
	"time"
)

// A Limiter lets a repeated line into the log at most once a second. The zero value lets the first
// one in. Any goroutine may use it.
type Limiter struct{ last atomic.Int64 } // when the last line passed, in nanoseconds since 1970

// Pass reports whether the line may be logged at that time, and counts it as logged if so.
func (l *Limiter) Pass(now time.Time) bool {
	at, last := now.UnixNano(), l.last.Load()
	return at-last >= int64(time.Second) && l.last.CompareAndSwap(last, at)
}
