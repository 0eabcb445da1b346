package sock

import "golang.org/x/sys/unix"

// Unacked is how much of what the kernel has taken from a socket the peer has not acknowledged.
// The kernel asks for more only when a third of its room is free, which at a peer that takes
// little at a time, but always some, is after minutes.
func Unacked(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}

// Acknowledged reports whether the peer has acknowledged all that the kernel has taken.
func Acknowledged(fd int) bool { return Unacked(fd) == 0 }
