//go:build race

package sched

// The race detector makes all code about ten times slower.
func init() { Slow = true }
