//go:build !linux

package reactor

import "syscall"

// TrySend is for platforms where a socket says at once what it takes: here it always returns EAGAIN.
func TrySend(fd int, first, second []byte) (int, syscall.Errno) { return 0, syscall.EAGAIN }
