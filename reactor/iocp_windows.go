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

// iocp is an armed poller over a completion port. It reports the ends of its requests: a receive of
// zero bytes, which holds no buffer while a connection is idle; an accepted or established
// connection; or room to send. The backend then makes the system call, which does not wait.
//
// A request may outlive its operation, and then serves the next one. To cancel an operation that
// receives or sends, the poller only forgets it. An accept or a connect could be lost in this way,
// so the kernel cancels them.
//
// The kernel keeps a request's address until its packet has been taken from the port. So requests
// are part of sockets, on the heap, which does not move. Two maps keep the sockets reachable:
// sockets has them by descriptor, and gone has closed ones whose packets are still to come.
//
// The backend's mutex guards all fields except port, waker, and those that only Poll and Rescue
// use. No event is lost. A request is made under the mutex when an operation is in flight that has
// no promise, and no such request is in flight. From then on its packet is in the kernel, in the
// port, or in entries of a Poll or Rescue that has yet to take the mutex. That call turns it into a
// promise and ends the request in one step. A request reports a state and not a change, so earlier
// events do not matter.
type iocp struct {
	kernel  kernel
	port    windows.Handle
	afd     afd
	waker   portWaker
	entries []packetEntry // used by Poll and Rescue only
	rescued bool          // used by Poll and Rescue only: a rescuer took a wake-up, which is for the owner

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

// wait ignores hold: Go makes every system call here in a way that lets others take the processor
// from the thread. The system counts in milliseconds, and ends waits with the ticks of its clock,
// which are up to 15.6 ms apart.
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

// landed processes the end of a request.
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
	var promised promise
	switch q.kind {
	case forReceive:
		k.failed = eaten(errno)
		promised.in = true
	case forIn:
		promised.in = true
		k.wanted &^= EdgeIn
	case forOut:
		promised.out = true
		k.wanted &^= EdgeOut
	case forReset:
		promised.hung = errno == 0
	case forConnect:
		k.connected(errno)
		promised.out = true
	case forAccept:
		promised.in = k.accepted(q.accept(), errno)
	}
	if f := r.table.get(k.fd); f != nil && f.watched {
		if f.inKind == Watch && (q.kind == forIn || q.kind == forOut) && errno == 0 {
			promised.answered(q.pollRequest().poll.events)
		}
		r.edge(k.fd, f, promised) // also for accepts that brought no connection: new ones are needed
	}
}

// watch adds a socket.
func (s *iocp) watch(fd int, _ *fdState) error {
	if _, errno := s.socket(fd); errno != 0 {
		return os.NewSyscallError("CreateIoCompletionPort", errno)
	}
	return nil
}

// widen does nothing: only requests of await are reported.
func (s *iocp) widen(int, *fdState) error { return nil }

// unwatch does nothing: only requests of await are reported.
func (s *iocp) unwatch(int, *fdState) bool { return false }

// forget makes the kernel end the requests for a socket. The close would not: another descriptor of
// the socket may be open.
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

// maxDrains bounds the attempts to take the packets of canceled requests. Each attempt waits for at
// most a second.
const maxDrains = 30

// close returns when the kernel holds no request any more.
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
		abandoned.Store(s, nil) // the driver still holds requests: their memory is never freed
	}
	s.afd.close()
	s.waker.close()
}

// abandoned keeps memory that the kernel may still write to.
var abandoned sync.Map
