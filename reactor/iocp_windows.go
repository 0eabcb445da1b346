package reactor

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/faults"
)

// iocp is an armed poller over a completion port. What it tells of was asked for: the end of a
// receive of no bytes, which holds no buffer while a connection is idle; an accepted or
// made connection; or room to send. The backend then makes the call, which does not wait.
//
// What is asked for outlives the operation for which that was done, and then is news for
// the next one: an operation that receives or sends is cancelled by forgetting it. Only
// what could be lost by that is cancelled in the kernel: accepts and connects.
//
// The kernel holds a request's address until its packet has been taken from the port. So
// requests are part of sockets, on the heap, which does not move, and the sockets
// are in one of two maps, which keeps them reachable: under their
// descriptor in sockets, or in gone when they have been closed and packets are still to come.
//
// The mutex of the backend guards all but port, waker, and what Poll and Rescue alone
// use. No news is lost: a request is made under it, when an operation is in flight that nothing is
// promised for, and none like it flies. From then on its packet is at the kernel, in the port, or in
// entries of a Poll or Rescue that has yet to take the mutex; and there it becomes a promise and
// ends the flight in one go. A request does not tell of a change but of what is so, so it
// does not matter what came before it was made.
type iocp struct {
	kernel  kernel
	port    windows.Handle
	afd     afd
	waker   portWaker
	entries []packetEntry // Poll's and Rescue's
	rescued bool          // the same: a rescuer came across a wake-up, which is its owner's

	sockets map[int]*socket
	gone    map[*socket]struct{}
	flying  int // requests that the kernel has
}

// A packetEntry is OVERLAPPED_ENTRY. A packet without a request is a wake-up.
type packetEntry struct {
	key      uintptr
	ov       *windows.Overlapped
	internal uintptr
	bytes    uint32
}

func probeIOCP(*Config) error {
	port, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 0)
	if err != nil {
		return os.NewSyscallError("CreateIoCompletionPort", err)
	}
	defer windows.CloseHandle(port)
	if _, err := connectEx(); err != nil {
		return os.NewSyscallError("WSAIoctl ConnectEx", err)
	}
	if _, err := wsaRecvMsg(); err != nil {
		return os.NewSyscallError("WSAIoctl WSARecvMsg", err)
	}
	a, err := openAFD(port)
	if err != nil {
		return err
	}
	a.close()
	return nil
}

func openIOCP(cfg *Config) (Reactor, error) {
	s := &iocp{entries: make([]packetEntry, 256), sockets: map[int]*socket{}, gone: map[*socket]struct{}{}}
	s.kernel = newKernel(cfg, s)
	var err error
	if s.port, err = windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("CreateIoCompletionPort", err)
	}
	s.waker.kernel, s.waker.port = s.kernel, s.port
	if s.afd, err = openAFD(s.port); err != nil {
		s.waker.close()
		return nil, err
	}
	return openReadiness(cfg, s.kernel, s)
}

func (s *iocp) name() string { return "iocp" }

func (s *iocp) wake() error { return s.waker.wake() }

// wait is the same for a hold: Go makes every call here in a way in which others can take the
// processor from the thread. The system counts in milliseconds, and ends waits with the ticks of its
// clock, which are up to 15.6 ms apart.
func (s *iocp) wait(wait time.Duration, _ bool) (int, syscall.Errno) {
	if _, errno := s.kernel.next(faults.Wait, -1, 1); errno != 0 {
		return 0, errno
	}
	if s.rescued {
		wait = 0
	}
	ms := uintptr(windows.INFINITE)
	if wait >= 0 {
		whole := min(wait/time.Millisecond, windows.INFINITE-2)
		if wait > whole*time.Millisecond {
			whole++
		}
		ms = uintptr(whole)
	}
	var n uint32
	r, _, errno := syscall.SyscallN(procGetQueuedCompletionStatusEx.Addr(), uintptr(s.port), uintptr(unsafe.Pointer(unsafe.SliceData(s.entries))),
		uintptr(len(s.entries)), uintptr(unsafe.Pointer(&n)), ms, 0)
	switch {
	case r != 0:
		return int(n), 0
	case errno == syscall.Errno(windows.WAIT_TIMEOUT):
		return 0, 0
	}
	return 0, errno
}

func (s *iocp) prepare() {}

func (s *iocp) unsent() bool { return false }

func (s *iocp) tell(r *readiness, n int, rescue bool) {
	if s.rescued && !rescue {
		s.rescued = false
		s.waker.noticed()
	}
	for i := range s.entries[:n] {
		ov := s.entries[i].ov
		s.entries[i].ov = nil
		switch {
		case ov != nil:
			s.landed(r, (*request)(unsafe.Pointer(ov)))
		case rescue:
			s.rescued = true
		default:
			s.waker.noticed()
		}
	}
}

// landed deals with the end of a request.
func (s *iocp) landed(r *readiness, q *request) {
	k := q.sock
	q.flying = false
	s.flying--
	k.flying--
	errno := statusErrno(windows.NTStatus(q.ov.Internal))
	if k.gone {
		if q.kind == forAccept {
			closeFD(int(q.accept().conn))
		}
		if k.flying == 0 {
			delete(s.gone, k)
		}
		return
	}
	var news promise
	switch q.kind {
	case forReceive:
		k.failed = eaten(errno)
		news.in = true
	case forIn:
		news.in = true
	case forOut:
		news.out = true
	case forReset:
		news.hung = errno == 0
	case forConnect:
		k.connected(errno)
		news.out = true
	case forAccept:
		news.in = k.accepted(q.accept(), errno)
	}
	if f := r.table.get(k.fd); f != nil && f.watched {
		r.edge(k.fd, f, news) // of accepts that came to nothing too: others are due
	}
}

// watch takes a socket in.
func (s *iocp) watch(fd int, _ *fdState) error {
	if _, errno := s.socket(fd); errno != 0 {
		return os.NewSyscallError("CreateIoCompletionPort", errno)
	}
	return nil
}

// widen does nothing: what is told of is what await asks for.
func (s *iocp) widen(int, *fdState) error { return nil }

// forget has the kernel end what it does for a socket. That another descriptor of it may be
// open is why it is not left to the close.
func (s *iocp) forget(fd int, _ *fdState) {
	k := s.sockets[fd]
	if k == nil {
		return
	}
	delete(s.sockets, fd)
	k.gone = true
	if k.flying > 0 {
		s.gone[k] = struct{}{}
	}
	s.cancel(&k.receive)
	s.cancel(&k.connect)
	for _, q := range []*pollRequest{&k.in, &k.out, &k.hangup} {
		if q.flying {
			s.afd.cancel(q)
		}
	}
	k.stopAccepting(s)
	for _, conn := range k.backlog {
		closeFD(conn)
	}
}

func (s *iocp) cancel(q *request) {
	if q.flying {
		_ = windows.CancelIoEx(windows.Handle(q.sock.fd), &q.ov)
	}
}

// maxDrains bounds the attempts to take the packets of all that was cancelled, each of
// which waits for a second at most.
const maxDrains = 30

// close returns when the kernel has no request any more.
func (s *iocp) close() {
	for fd := range s.sockets {
		s.forget(fd, nil)
	}
	for range maxDrains {
		if s.flying == 0 {
			break
		}
		n, _ := s.wait(time.Second, false)
		s.tell(nil, n, false)
	}
	if s.flying > 0 {
		abandoned.Store(s, nil) // a driver that does not let go: the memory is its for good
	}
	s.afd.close()
	s.waker.close()
}

// abandoned keeps what the kernel may still write to.
var abandoned sync.Map
