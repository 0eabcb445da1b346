// Package procfile reads files of /proc and /sys.
package procfile

import (
	"os"
	"slices"
	"syscall"
)

// most bounds the bytes that are read.
const most = 1 << 20

// Read reads up to 1 MiB of a file that never blocks. Unlike os.ReadFile it leaves Go's poller
// alone: the first file that package os opens starts the poller, and Go ends the process if no
// descriptor is left for that.
func Read(name string) (string, error) {
	fd, err := open(name)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }()
	all := make([]byte, 0, 4<<10)
	for len(all) < most {
		n, err := syscall.Read(fd, all[len(all):cap(all)])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return "", &os.PathError{Op: "read", Path: name, Err: err}
		case n <= 0:
			return string(all), nil
		}
		if all = all[:len(all)+n]; len(all) == cap(all) {
			all = slices.Grow(all, len(all))
		}
	}
	return string(all[:most]), nil
}

func open(name string) (int, error) {
	for {
		fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}
