package reactor

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapMemory(n int) ([]byte, error) {
	at, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err == windows.ERROR_NOT_ENOUGH_MEMORY || err == windows.ERROR_COMMITMENT_LIMIT {
		err = syscall.ENOMEM
	}
	if err != nil {
		return nil, os.NewSyscallError("VirtualAlloc", err)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n), nil
}

func unmapMemory(mem []byte) error {
	if mem == nil {
		return nil
	}
	return os.NewSyscallError("VirtualFree", windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(mem))), 0, windows.MEM_RELEASE))
}
