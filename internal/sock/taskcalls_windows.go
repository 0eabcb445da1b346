package sock

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// The Windows counterparts of these calls block. So files are read and written, and splicing copies
// bytes.

const HaveSendfile = false

// Sendfile does not exist here.
func Sendfile(int, int, int64, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

// TakeError returns 0: only a receive reports the error.
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

// Splice exists only on Linux.
func Splice(int, int, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

func newPipe(int) (*Pipe, error) {
	return nil, fmt.Errorf("conn: no splice(2) on Windows: %w", errors.ErrUnsupported)
}
