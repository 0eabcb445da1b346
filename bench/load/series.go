package load

import (
	"slices"
	"time"
)

// Slice is a time whose messages have their own 99th percentile. Rare events are in few slices,
// frequent ones in each.
const Slice = 100 * time.Millisecond

// A series is the latencies of an open loop by the time at which messages were due. It does not
// grow.
type series [][]time.Duration

func newSeries(d time.Duration, gap float64) series {
	s := make(series, d/Slice) // the end of the window may be none
	for i := range s {
		s[i] = make([]time.Duration, 0, 2*int(float64(Slice)/gap)+64) // at random times there are never as many
	}
	return s
}

// note adds the latency of a message that was due then, if that was in the window: of a closed
// loop, which has no series, messages may have been due before.
func (s series) note(due, took time.Duration) {
	if i := int(due / Slice); due >= 0 && i < len(s) && len(s[i]) < cap(s[i]) {
		s[i] = append(s[i], took)
	}
}

// p99s are the 99th percentiles.
func (s series) p99s() (all []time.Duration) {
	for _, each := range s {
		if n := len(each); n > 0 {
			slices.Sort(each)
			all = append(all, each[(n*99+99)/100-1])
		}
	}
	return all
}
