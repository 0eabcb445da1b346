// Package cputime tells how long a thread of this process has waited for a processor, so that a
// task which is slow differs from one whose thread did not get to run.
//
// The kernel counts on Linux. On other systems nothing is known: Thread and Self return 0.
package cputime

import "time"

// A Reading is what the kernel has counted of a thread until At. Two of them tell what the thread
// did in between.
type Reading struct {
	At       time.Time
	Ran      time.Duration // on a processor
	Queued   time.Duration // waits for a processor that have ended; negative: it is not known
	Sleeps   uint64        // how often it gave up its processor to wait for something else
	Runnable bool          // it ran or waited for a processor at At
}

// Waited returns how long the thread waited for a processor between two readings. It does not count
// unknown times: a wait that has not ended, of a thread that has slept since the first reading.
func Waited(from, to Reading) time.Duration {
	idle := to.At.Sub(from.At) - (to.Ran - from.Ran) // neither of the two clocks stops while it is read
	if from.Runnable && to.Runnable && from.Sleeps == to.Sleeps {
		return max(0, idle) // the thread never slept, so it waited while it did not run
	}
	if from.Queued < 0 || to.Queued < 0 {
		return 0
	}
	return max(0, min(idle, to.Queued-from.Queued))
}
