//go:build explore

package list

// Batch is 2 for the explorer: see the other file.
const Batch = 2
