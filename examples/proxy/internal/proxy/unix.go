package proxy

import (
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// listenStream listens on a stream address. A process that was killed leaves the file of its Unix
// socket behind. It is removed if no process listens there.
func listenStream(a config.Address) (net.Listener, error) {
	ln, err := net.Listen(a.Network(), a.Host)
	if a.Scheme == "unix" && errors.Is(err, syscall.EADDRINUSE) && removeStale(a.Host) {
		return net.Listen(a.Network(), a.Host)
	}
	return ln, err
}

// removeStale removes the file of a Unix socket on which no process listens. It reports whether it
// has done so.
func removeStale(path string) bool {
	before, err := os.Lstat(path)
	if err != nil || before.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	after, err := os.Lstat(path) // another process may have replaced it meanwhile
	return err == nil && os.SameFile(before, after) && os.Remove(path) == nil
}
