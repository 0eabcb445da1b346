package main

import (
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock keeps other comparisons off these CPUs until it is released, or the process ends. Children
// do not inherit it.
func lock(ctx context.Context) (release func(), err error) {
	path := filepath.Join(os.TempDir(), "suiro-bench.lock")
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) { // only then: others' files there are not to be opened for creation
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	}
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	for told := false; ; told = true {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK {
			return func() { _ = f.Close() }, os.NewSyscallError("flock", err)
		}
		if !told {
			log.Print("waiting for another comparison on this machine to end")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// raiseFiles lets this process's children have as many descriptors as are allowed: idle connections
// need many.
func raiseFiles() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	l.Cur = l.Max
	return os.NewSyscallError("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &l))
}
