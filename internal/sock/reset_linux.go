package sock

import "golang.org/x/sys/unix"

// WasReset reports whether a TCP connection whose end we have not sent is over. Then its peer has
// reset it. A receive that finds 0 bytes does not tell: if a send has taken the socket's error, a
// reset looks like an end.
func WasReset(fd int) bool {
	const over = 7 // the kernel's TCP_CLOSE
	info, err := unix.GetsockoptTCPInfo(fd, unix.SOL_TCP, unix.TCP_INFO)
	return err == nil && info.State == over
}
