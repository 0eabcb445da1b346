//go:build unix

package sock

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of a datagram that was received.
const (
	Truncated        = unix.MSG_TRUNC  // the datagram is longer than the room for it
	ControlTruncated = unix.MSG_CTRUNC // some control messages did not fit
)

// controlLen is the length of the first control message with its padding, and without it. 0: there
// is none. control is aligned as the kernel wants it.
func controlLen(control []byte) (padded, length int) {
	if len(control) < unix.SizeofCmsghdr {
		return 0, 0
	}
	length = int((*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(control))).Len)
	if length < unix.CmsgLen(0) || length > len(control) {
		return 0, 0
	}
	return min(unix.CmsgSpace(length-unix.CmsgLen(0)), len(control)), length
}

// CopyControl copies control messages, each whole or not at all. It returns the length of those
// that fit, and whether all did.
func CopyControl(to, from []byte) (n int, all bool) {
	for {
		padded, length := controlLen(from)
		if padded == 0 {
			return n, true
		}
		if length > len(to)-n {
			return n, false
		}
		n += copy(to[n:], from[:padded])
		from = from[padded:]
	}
}
