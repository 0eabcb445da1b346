// Package chanx is the place of channels for tasks: bounded and unbounded queues, oneshot, broadcast and watch, which park the task instead of its thread.
//
// It is empty as yet: the package is named in the design so that its place in
// the imports is settled (it may import sched, and server may import it), and
// has no API before it has an implementation.
package chanx
