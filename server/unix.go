package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/suiro-go/suiro/conn"
)

// listenUnix listens on a path, or on Linux on an abstract name. That begins with @ and needs no
// cleanup.
//
// A socket that a program left behind at the path when it ended is removed first. The test is that
// connecting to it is refused, because no program listens there. Anything else at the path stays,
// and is an error: a file, or a socket on which a program listens. If two programs start at the
// same time on such a path, both may remove it and listen; the one that binds later gets the path.
func (s *Server) listenUnix(path string) (net.Listener, error) {
	abstract := strings.HasPrefix(path, "@")
	if abstract && runtime.GOOS != "linux" {
		return nil, &net.OpError{Op: "listen", Net: "unix", Addr: &net.UnixAddr{Name: path, Net: "unix"},
			Err: fmt.Errorf("abstract names are Linux's; use a path: %w", errors.ErrUnsupported)}
	}
	lc := net.ListenConfig{Control: s.control}
	ln, err := untilFree(func() (net.Listener, error) {
		if !abstract {
			removeStale(path)
		}
		return lc.Listen(context.Background(), "unix", path)
	})
	if err != nil || abstract || s.UnixMode == 0 {
		return ln, err
	}
	if err := os.Chmod(path, s.UnixMode.Perm()); err != nil { // the umask was applied before
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

func removeStale(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return
	}
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		_ = c.Close()
	case errors.Is(conn.Portable(err), syscall.ECONNREFUSED):
		_ = os.Remove(path)
	}
}
