//go:build race

package syncx_test

// The race detector makes all code about ten times slower.
func init() { slow = true }
