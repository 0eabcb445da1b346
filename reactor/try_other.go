//go:build !unix

package reactor

import "syscall"

// TrySend is for platforms where a socket says at once what it takes: here it always returns EAGAIN.
func (*Config) TrySend(fd int, first, second []byte) (int, syscall.Errno) { return 0, syscall.EAGAIN }

// TryRecv is for platforms where a socket says at once what it has: here it always returns EAGAIN.
func (*Config) TryRecv(fd int, p []byte) (int, syscall.Errno) { return 0, syscall.EAGAIN }
