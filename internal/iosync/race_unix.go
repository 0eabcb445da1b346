//go:build race && unix

package iosync

import "syscall"

const nowhere = -1

// empty can be read: package syscall acquires only after a read that does not fail.
var empty = func() int {
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("iosync: the race detector needs /dev/null: " + err.Error())
	}
	return fd
}()
