//go:build race

package chanx_test

func init() { slow = true }
