//go:build !windows

package conntest

// ForgetsErrors is about Wine.
func ForgetsErrors() bool { return false }
