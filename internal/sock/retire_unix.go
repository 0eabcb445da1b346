//go:build unix

package sock

import "golang.org/x/sys/unix"

// Retire makes a descriptor that of another socket, which does nothing, and so closes its
// own: nobody else gets the number until it is closed.
func Retire(fd int) error {
	inert, err := Socket(unix.AF_UNIX, unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer Close(inert)
	return replace(inert, fd)
}
