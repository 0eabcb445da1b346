//go:build unix

package sock

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// An Inert is a socket that does nothing, and takes the place of others. It is made before it
// is needed, since there may be no descriptor to spare then. Any goroutine; the zero value has
// no socket yet.
type Inert struct {
	mu    sync.Mutex
	users int
	fd    int // with users
}

// Hold keeps the socket there until Drop is called.
func (i *Inert) Hold() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users == 0 {
		fd, err := Socket(unix.AF_UNIX, unix.SOCK_STREAM)
		if err != nil {
			return err
		}
		i.fd = fd
	}
	i.users++
	return nil
}

// Drop ends a Hold. Without one it does nothing.
func (i *Inert) Drop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users == 0 {
		return
	}
	if i.users--; i.users == 0 {
		Close(i.fd)
	}
}

// Retire makes a descriptor that of the inert socket, and so closes its own: nobody else gets
// the number until it is closed. Unless Hold was called it returns net.ErrClosed.
func (i *Inert) Retire(fd int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users == 0 {
		return net.ErrClosed
	}
	return replace(i.fd, fd)
}
