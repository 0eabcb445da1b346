//go:build race

package syncx_test

// The race detector makes everything about ten times slower.
func init() { slow = true }
