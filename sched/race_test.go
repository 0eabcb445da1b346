//go:build race

package sched

// The race detector makes everything about ten times slower.
func init() { Slow = true }
