package conntest

import (
	"testing"
	"time"
)

// Punctual has f be a peer that is never silent for as long as the limit: it says alive each
// time it has done something, and returns what went wrong. Where that is because it was late
// itself, since the machine has stood still or is busy, nothing was shown, and it is a peer
// under twice the limit.
func Punctual(t testing.TB, limit time.Duration, f func(limit time.Duration, alive func()) error) {
	t.Helper()
	for {
		last, silence := time.Now(), time.Duration(0)
		alive := func() {
			now := time.Now()
			silence, last = max(silence, now.Sub(last)), now
		}
		err := f(limit, alive)
		if err == nil {
			return
		}
		alive()
		if silence < limit/2 || limit > Patience {
			t.Fatalf("under a limit of %v, with %v of silence at most: %v\n%s", limit, silence, err, Dump())
		}
		limit *= 2
	}
}
