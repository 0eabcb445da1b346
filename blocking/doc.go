// Package blocking is the place of a pool of goroutines for calls that block, so that the workers never do.
//
// It is empty as yet: the package is named in the design so that its place in
// the imports is settled (it may import sched, and server may import it), and
// has no API before it has an implementation.
package blocking
