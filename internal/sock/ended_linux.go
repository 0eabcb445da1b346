package sock

import "golang.org/x/sys/unix"

// Ended reports whether the peer has reset the connection; with eof, or has finished. It takes
// nothing from the socket, not the error either.
func Ended(fd int, eof bool) bool {
	ask := []unix.PollFd{{Fd: int32(fd)}} // an error and a hang-up are reported without being asked for
	if eof {
		ask[0].Events = unix.POLLRDHUP
	}
	n, err := unix.Poll(ask, 0)
	return err == nil && n > 0
}
