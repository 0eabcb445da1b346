package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A socket is iocp's state of a socket and its requests to the kernel.
type socket struct {
	fd     int
	base   windows.Handle // the base provider's handle, for afd
	family int32
	stream bool // it is a socket of a byte stream

	foreign bool // it belongs to another completion port: afd reports all events
	skips   bool // a request that completes at once has no packet
	gone    bool
	flying  int // requests in flight

	receive, connect request
	in, out          pollRequest
	hangup           pollRequest

	wanted  Edge          // of a Watch: the directions whose next edge is requested
	failed  syscall.Errno // error of the last zero-byte receive, if the kernel does not report it again
	outcome syscall.Errno // of a connect

	// Of a listener.
	accepts []*acceptRequest
	backlog []int         // accepted connections for the next Accept
	refused syscall.Errno // the error that keeps it from accepting
}

type purpose uint8

const (
	forReceive purpose = iota
	forIn
	forOut
	forReset
	forConnect
	forAccept
)

// A request is memory that the kernel returns with a packet, by the address of its first field.
type request struct {
	ov     windows.Overlapped
	sock   *socket
	kind   purpose
	flying bool
}

type pollRequest struct {
	request
	poll afdPoll
}

type acceptRequest struct {
	request
	conn    int
	stopped bool                // canceled
	names   [2 * nameSpace]byte // the addresses, which are not read
}

// nameSpace is the space that AcceptEx requires for each address.
const nameSpace = unsafe.Sizeof(windows.RawSockaddrAny{}) + 16

func (q *request) accept() *acceptRequest { return (*acceptRequest)(unsafe.Pointer(q)) }

func (q *request) pollRequest() *pollRequest { return (*pollRequest)(unsafe.Pointer(q)) }

// takesOff notes that the kernel has the request: it is in flight.
func (s *iocp) takesOff(q *request) {
	q.flying = true
	q.sock.flying++
	s.flying++
}

// socket returns the state of a socket. A new socket is added to the port, unless it belongs to
// another one.
func (s *iocp) socket(fd int) (*socket, syscall.Errno) {
	if k := s.sockets[fd]; k != nil {
		return k, 0
	}
	k := &socket{fd: fd, base: windows.Handle(fd)}
	var info windows.WSAProtocolInfo
	size := int32(unsafe.Sizeof(info))
	const soProtocolInfo = 0x2005 // SO_PROTOCOL_INFOW
	if err := windows.Getsockopt(k.base, windows.SOL_SOCKET, soProtocolInfo, (*byte)(unsafe.Pointer(&info)), &size); err != nil {
		return nil, errnoOf(err)
	}
	k.family, k.stream = info.AddressFamily, info.SocketType == windows.SOCK_STREAM
	ours := info.ServiceFlags1&windows.XP1_IFS_HANDLES != 0 // no layered provider stands between the socket and the kernel
	if !ours {
		const sioBaseHandle = 0x48000022
		var n uint32
		_ = windows.WSAIoctl(k.base, sioBaseHandle, nil, 0, (*byte)(unsafe.Pointer(&k.base)), uint32(unsafe.Sizeof(k.base)), &n, nil, 0)
	}
	_, err := windows.CreateIoCompletionPort(windows.Handle(fd), s.port, 0, 0)
	switch errno := errnoOf(err); errno {
	case 0:
		const skipOnSuccess, skipEvent = 1, 2
		k.skips = ours && windows.SetFileCompletionNotificationModes(windows.Handle(fd), skipOnSuccess|skipEvent) == nil
	case syscall.EINVAL: // it belongs to another port: a socket of package net, or a second descriptor of a socket that was added before
		k.foreign = true
	default:
		return nil, errno
	}
	k.receive = request{sock: k, kind: forReceive}
	k.connect = request{sock: k, kind: forConnect}
	k.in.request = request{sock: k, kind: forIn}
	k.out.request = request{sock: k, kind: forOut}
	k.hangup.request = request{sock: k, kind: forReset}
	s.sockets[fd] = k
	return k, 0
}

func errnoOf(err error) syscall.Errno {
	errno, _ := err.(syscall.Errno)
	return Errno(errno)
}

var _ armed = (*iocp)(nil)

func (s *iocp) await(fd int, f *fdState) {
	k := s.sockets[fd]
	if k == nil {
		return
	}
	if f.inKind == Watch {
		s.awaitEdges(k, f)
		return
	}
	if f.inKind != 0 && !f.in && f.line&inStarved == 0 {
		switch {
		case f.inKind == Accept && !k.foreign:
			f.in = s.awaitAccept(k)
		case f.inKind == Recv && !k.foreign && k.stream:
			f.in = s.awaitReceive(k)
		default:
			f.in = s.ask(&k.in, afdIn)
		}
	}
	if f.traits&forHangup != 0 {
		s.ask(&k.hangup, afdAbort)
	}
	if f.outKind != 0 && !f.out && !k.connect.flying {
		f.out = s.ask(&k.out, afdOut)
	}
}

// awaitEdges requests the edges that a Watch wants. A direction that afd cannot be asked for makes
// an edge at once.
func (s *iocp) awaitEdges(k *socket, f *fdState) {
	var now Edge
	if k.wanted&EdgeIn != 0 && s.ask(&k.in, afdIn) {
		now |= EdgeIn
	}
	if k.wanted&EdgeOut != 0 && s.ask(&k.out, afdOut) {
		now |= EdgeOut
	}
	k.wanted &^= now
	f.keepEdges(now)
}

// answered adds more of afd's answer for a Watch.
func (p *promise) answered(events uint32) {
	p.ended = events&(afdDisconnect|afdAbort|afdLocalClose) != 0
	p.hung = events&(afdAbort|afdConnectFail) != 0
}

func (s *iocp) rewatch(fd int, directions Edge) {
	if k := s.sockets[fd]; k != nil {
		k.wanted |= directions & (EdgeIn | EdgeOut)
	}
}

// ask queries afd. It returns true if afd cannot be asked: the system call itself will show the
// state.
func (s *iocp) ask(q *pollRequest, events uint32) bool {
	if q.flying {
		return false
	}
	if !s.afd.ask(q, events) {
		return true
	}
	s.takesOff(&q.request)
	return false
}

// awaitReceive starts a receive of zero bytes. It completes when bytes or the end have arrived.
// awaitReceive returns true if that is so now.
func (s *iocp) awaitReceive(k *socket) bool {
	q := &k.receive
	if q.flying || k.failed != 0 {
		return !q.flying
	}
	q.ov = windows.Overlapped{}
	_, errno := wsaRecv(k.fd, []windows.WSABuf{{}}, 0, &q.ov)
	switch {
	case errno == 0 && k.skips:
		return true
	case errno == 0 || errno == syscall.EINPROGRESS:
		s.takesOff(q)
		return false
	}
	k.failed = eaten(errno)
	return true
}

// eaten returns an error that the kernel reports only once, so that it must be kept, else 0.
func eaten(errno syscall.Errno) syscall.Errno {
	if errno == syscall.ECANCELED || errno == syscall.EAGAIN {
		return 0
	}
	return errno
}

func (s *iocp) canceled(fd int, kind Kind) {
	k := s.sockets[fd]
	switch {
	case k == nil:
	case kind == Connect:
		s.cancel(&k.connect)
	case kind == Accept:
		k.stopAccepting(s)
	}
}
