package conn

import "syscall"

// CloseFD closes a descriptor that nobody uses any more.
func CloseFD(fd int) error { return syscall.Closesocket(syscall.Handle(fd)) }
