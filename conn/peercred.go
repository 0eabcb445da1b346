package conn

import (
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/sock"
)

// A Cred names the peer process of a Unix socket: the process that connected or listened, with its
// users as of that moment.
type Cred = sock.Cred

// PeerCred returns the peer process of a Unix connection. The error matches errors.ErrUnsupported
// for TCP, and on systems other than Linux, macOS and FreeBSD. It matches net.ErrClosed after the
// end.
func (c *Conn) PeerCred() (Cred, error) {
	return peerCred(&c.core)
}

// PeerCred is Conn.PeerCred.
func (s *Socket) PeerCred() (cred Cred, err error) {
	err = s.setOption(func(fd int) error {
		cred, err = sock.PeerCred(fd)
		return err
	})
	return cred, err
}

// PeerCred is Conn.PeerCred.
func (s *Stream) PeerCred() (Cred, error) {
	if s.ofTask != nil {
		return s.ofTask.socket.PeerCred()
	}
	return peerCred(s.c)
}

func peerCred(c *core.Conn) (cred Cred, err error) {
	err = c.WithFD(func(fd int) error {
		cred, err = sock.PeerCred(fd)
		return err
	})
	if err != nil {
		return Cred{}, c.OpError("get", err)
	}
	return cred, nil
}
