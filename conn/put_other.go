//go:build !linux

package conn

import "syscall"

// As in socket_other.go.

func sendNonblock(int, []byte) (int, syscall.Errno) { return -1, syscall.ENOSYS }
