//go:build !unix && !windows

package conn

import (
	"os"
	"syscall"
)

// No backend runs here yet, so no connection can be made and none of these is
// reached. What would do without them is there: files are read and written where
// sendfile refuses, and what is spliced is copied where there is no pipe.

const haveSendfile = false

func sendfile(int, int, int64, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

func dupFile(syscall.Conn, string) (*os.File, error) { return nil, errNoBackend }

func spliceNonblock(int, int, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

func newPipe(int) (*pipe, error) { return nil, errNoBackend }
