//go:build netbsd || openbsd

package conn

import "syscall"

// These have no sendfile: files are read and written.
const haveSendfile = false

func sendfile(int, int, int64, int) (int, syscall.Errno) { return 0, syscall.EINVAL }
