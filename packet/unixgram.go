package packet

import (
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A UnixDatagram is a Unix datagram socket (unixgram) for tasks and goroutines. Addresses are the
// names that net.UnixAddr has: paths, or on Linux abstract names, which begin with "@". A sender
// without a name has an empty one.
//
// A send waits while the receiver's queue is full. Only connected sockets get reports of the kernel
// when that queue has room. So SendTo and SendBatch of other sockets try again after pauses of 1 to
// 32 ms, and their Writable returns at once. Closing the socket leaves its path in the file system.
type UnixDatagram = DatagramSocket[string]

// ListenUnixgram serves a Unix datagram socket, such as one of net.ListenUnixgram. The group works
// on a copy of the descriptor, so pc may be closed at once. However, Close of a socket that package
// net has bound removes its path. On Windows the error matches errors.ErrUnsupported.
func ListenUnixgram(g Group, pc *net.UnixConn) (*UnixDatagram, error) {
	fd, err := sock.OfUnixConn(pc)
	if err != nil {
		return nil, err
	}
	return newUnixgram(g, fd)
}

// DialUnixgram makes a Unix datagram socket that is connected to the socket named to. local is its
// own name, to which the peer can answer. Empty means no name. DialUnixgram does not wait. On
// Windows the error matches errors.ErrUnsupported.
func DialUnixgram(g Group, local, to string) (*UnixDatagram, error) {
	fd, err := sock.DialUnixgram(local, to)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "unixgram", Addr: unixCodec{}.addr(to), Err: err}
	}
	return newUnixgram(g, fd)
}

func newUnixgram(g Group, fd int) (*UnixDatagram, error) {
	s := new(UnixDatagram)
	s.network, s.codec = "unixgram", unixCodec{}
	s.local, s.peer, s.dialed = sock.InspectUnix(fd)
	s.sendsNeedTimer = !s.dialed
	if err := s.open(g, fd); err != nil {
		return nil, err
	}
	return s, nil
}

// PeerCred returns the peer process of a connected Unix socket. Linux, macOS and FreeBSD support
// it, some of them only for streams. Where it is not supported, the error matches
// errors.ErrUnsupported.
func (s *DatagramSocket[A]) PeerCred() (cred Cred, err error) {
	err = s.set(func(fd int) error {
		cred, err = sock.PeerCred(fd)
		return err
	})
	return cred, err
}

// A Cred names the peer process of a Unix socket, as of the time when it connected.
type Cred = sock.Cred

// A unixCodec is the codec of unixgram.
type unixCodec struct{}

func (unixCodec) encode(to string, _ bool, sa *reactor.Sockaddr) syscall.Errno { return sa.SetUnix(to) }

func (unixCodec) decode(sa *reactor.Sockaddr) string { return sa.UnixName() }

func (unixCodec) equals(last string, sa *reactor.Sockaddr) bool {
	return last != "" && sa.HasUnixName(last)
}

func (unixCodec) addr(name string) net.Addr {
	if name == "" {
		return nil
	}
	return &net.UnixAddr{Name: name, Net: "unixgram"}
}

func (unixCodec) of(addr net.Addr, _ bool) (string, error) {
	a, ok := addr.(*net.UnixAddr)
	switch {
	case !ok:
		return "", errAddressType
	case a == nil:
		return "", errNoAddress
	case a.Net != "unixgram":
		return "", syscall.EAFNOSUPPORT
	}
	return a.Name, nil
}
