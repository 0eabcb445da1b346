//go:build !linux

package sock

import "syscall"

// AcceptLeft is for Linux, whose io_uring alone may leave a connection behind.
func AcceptLeft(int) (int, syscall.Errno) { return -1, syscall.EAGAIN }

// Keep is for AcceptLeft.
func Keep(int) int { return -1 }
