//go:build unix

package conn_test

import "golang.org/x/sys/unix"

func sendRaw(fd uintptr, p []byte) (int, error) { return unix.Write(int(fd), p) }
