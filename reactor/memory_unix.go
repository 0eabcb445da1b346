//go:build unix

package reactor

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapMemory(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return mem, os.NewSyscallError("mmap", err)
}

func unmapMemory(mem []byte) error {
	if mem == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
