//go:build unix

package sock

import "os"

// File is a copy of a descriptor, close-on-exec.
func File(fd int, name string) (*os.File, error) {
	fd, err := Duplicate(fd)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
