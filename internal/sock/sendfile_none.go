//go:build netbsd || openbsd

package sock

import "syscall"

// These have no sendfile: files are read and written.
const HaveSendfile = false

// Sendfile is not there.
func Sendfile(int, int, int64, int) (int, syscall.Errno) { return 0, syscall.EINVAL }
