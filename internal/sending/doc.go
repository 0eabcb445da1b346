// Package sending implements the right to send on one connection. A Right is one atomic word: it
// names the holder of the right and its waiters, and counts the bytes that were sent. Any number of
// goroutines and the connection's own task use it, and the order of its holders is the order of
// bytes. Tests with the build tag explore check its invariants under all interleavings of a few
// threads.
//
// The package makes no system calls and wakes nobody: its methods report whom the caller must wake.
package sending
