package conn

import (
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/sock"
)

// File is a copy of the listening socket's descriptor, for another process to inherit. It may
// be called from any goroutine. Closing one does not close the other. After Close the error
// matches net.ErrClosed; on Windows it matches errors.ErrUnsupported.
func (l *Listener) File() (*os.File, error) {
	l.mu.Lock() // its task closes the descriptor only after it has seen stop
	defer l.mu.Unlock()
	if l.stop {
		return nil, &net.OpError{Op: "file", Net: l.addr.Network(), Addr: l.addr, Err: net.ErrClosed}
	}
	return sock.File(l.end.FD, l.addr.String())
}

// Files are what Listener.File returns, of each of the listener's sockets: one, or one for
// each worker.
func (l *SocketListener) Files() ([]*os.File, error) {
	var all []*os.File
	for _, inner := range l.inner {
		f, err := inner.File()
		if err != nil {
			for _, f := range all {
				_ = f.Close()
			}
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
