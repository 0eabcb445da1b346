//go:build race

package process_test

func init() { slow = true }
