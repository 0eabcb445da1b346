// Package testmode lets tests of other packages change settings of sched's runtimes that users
// cannot reach.
package testmode

import "sync/atomic"

// EndlessParks has the workers of every runtime made from then on wait without any
// limit but that of a timer, so that a lost wake-up hangs instead of being made good
// for by the next time-out.
var EndlessParks atomic.Bool
