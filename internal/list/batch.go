//go:build !explore

package list

// Batch is how many of those that wait are taken out of a list between two holds of its
// lock, to be woken while it is free. The interleaving explorer has 2, so that three that
// wait are enough for a second batch.
const Batch = 32
