// Package syncx is the place of synchronisation for tasks: semaphores, mutexes, barriers and their like, which park the task instead of its thread.
//
// It is empty as yet: the package is named in the design so that its place in
// the imports is settled (it may import sched, and server may import it), and
// has no API before it has an implementation.
package syncx
