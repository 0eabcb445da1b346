package sock

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// What Windows has of these waits for what it does, so files are read and written, and
// what is spliced is copied.

const HaveSendfile = false

// Sendfile is not there.
func Sendfile(int, int, int64, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

// TakeError is nothing: a receive alone tells the error.
func TakeError(int) syscall.Errno { return 0 }

// DupFile is the same open file under a handle of our own.
func DupFile(f syscall.Conn, name string) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var h windows.Handle
	cerr := raw.Control(func(orig uintptr) {
		this := windows.CurrentProcess()
		err = windows.DuplicateHandle(this, windows.Handle(orig), this, &h, 0, false, windows.DUPLICATE_SAME_ACCESS)
	})
	if cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, os.NewSyscallError("duplicatehandle", err)
	}
	return os.NewFile(uintptr(h), name), nil
}

// Splice is Linux's.
func Splice(int, int, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

func newPipe(int) (*Pipe, error) {
	return nil, fmt.Errorf("conn: no splice(2) on Windows: %w", errors.ErrUnsupported)
}
