package conn

import (
	"errors"
	"syscall"
)

// A rawSocket is a descriptor as functions named Control want it.
type rawSocket int

var _ syscall.RawConn = rawSocket(0)

func (s rawSocket) Control(f func(fd uintptr)) error {
	f(uintptr(s))
	return nil
}

func (rawSocket) Read(func(uintptr) bool) error { return errors.ErrUnsupported }

func (rawSocket) Write(func(uintptr) bool) error { return errors.ErrUnsupported }
