// Package saturate is arithmetic with durations that ends at the largest one instead of
// overflowing: a limit of math.MaxInt64 then means "never", and not "long ago".
package saturate

import (
	"math"
	"time"
)

// Longest is the largest duration, some 292 years.
const Longest time.Duration = math.MaxInt64

// Add is a + b, and the largest or smallest duration where that is beyond them.
func Add(a, b time.Duration) time.Duration {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return Longest
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// Seconds is d in whole seconds, rounded up, and limit where it is more.
func Seconds(d time.Duration, limit int) int {
	s := d / time.Second
	if d%time.Second > 0 {
		s++
	}
	return int(min(s, time.Duration(limit)))
}
