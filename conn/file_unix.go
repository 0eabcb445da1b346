//go:build unix

package conn

import "os"

// fileOf is a copy of a descriptor, close-on-exec.
func fileOf(fd int, name string) (*os.File, error) {
	fd, err := duplicate(fd)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
