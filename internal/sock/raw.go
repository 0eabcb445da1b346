package sock

import (
	"errors"
	"syscall"
)

// A Raw is a descriptor as functions named Control want it.
type Raw int

var _ syscall.RawConn = Raw(0)

func (s Raw) Control(f func(fd uintptr)) error {
	f(uintptr(s))
	return nil
}

func (Raw) Read(func(uintptr) bool) error { return errors.ErrUnsupported }

func (Raw) Write(func(uintptr) bool) error { return errors.ErrUnsupported }
