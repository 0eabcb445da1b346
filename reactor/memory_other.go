//go:build !unix

package reactor

func mapMemory(n int) ([]byte, error) { return make([]byte, n), nil }

func unmapMemory([]byte) error { return nil }
