// Package testmode lets tests of other packages change settings of sched's runtimes that users
// cannot reach.
package testmode

import "sync/atomic"

// EndlessParks makes the workers of every later runtime wait without a limit except that of a
// timer. A lost wake-up then hangs. Otherwise the next time-out would hide it.
var EndlessParks atomic.Bool

// NoSpares has every runtime made from then on have no spare workers by default: for tests that
// keep all workers occupied so that nothing else runs.
var NoSpares atomic.Bool

// Wander has every runtime made from then on run each task on another worker than the time before,
// if it has several workers and the task may move.
var Wander atomic.Bool
