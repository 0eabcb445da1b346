//go:build race && !explore

package chanx_test

func init() { slow = true }
