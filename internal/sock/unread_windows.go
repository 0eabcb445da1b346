package sock

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

const fionread = 0x4004667f

// Unread is how many bytes of a connected socket the system has for the reader.
func Unread(fd int) int {
	var n, size uint32
	if windows.WSAIoctl(windows.Handle(fd), fionread, nil, 0, (*byte)(unsafe.Pointer(&n)), uint32(unsafe.Sizeof(n)), &size, nil, 0) != nil {
		return 0
	}
	return int(n)
}
