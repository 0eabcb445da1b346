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

// listenUnix listens on a path, or on Linux on an abstract name, which begins with
// @ and needs no cleaning.
//
// A path at which a socket is left behind by a program that has ended is removed
// first: one to which connecting is refused, because nobody listens there. Anything
// else at the path, a socket somebody listens on or a file, stays, and is an error.
// Two programs that start at once on the same stale path can both think it theirs;
// the one that binds later has it.
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
	if err := os.Chmod(path, s.UnixMode.Perm()); err != nil { // the umask took its part before
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
