//go:build unix

package sock

import "golang.org/x/sys/unix"

// Unread is how many bytes of a connected socket the kernel has for the reader.
func Unread(fd int) int {
	n, err := unix.IoctlGetInt(fd, fionread)
	if err != nil {
		return 0
	}
	return n
}
