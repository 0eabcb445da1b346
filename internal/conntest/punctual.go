package conntest

import (
	"testing"
	"time"
)

// Punctual calls f, which is a peer that is never silent for as long as the limit. f calls alive
// after each of its actions, and returns an error. If f itself was late, because the machine stood
// still or is busy, the error shows nothing. Then Punctual calls f again with twice the limit.
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

// Rest is a pause within Punctual that is to be no silence: it calls alive ten times per limit. So
// a sleep that the machine stretches still counts as one.
func Rest(pause, limit time.Duration, alive func()) {
	for end := time.Now().Add(pause); time.Now().Before(end); alive() {
		time.Sleep(limit / 10)
	}
}
