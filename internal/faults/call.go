package faults

import "fmt"

// Call is a kind of system call, or with io_uring of an operation.
type Call uint8

// The kinds, and the system call or operation of each with epoll and with io_uring.
const (
	Accept      Call = iota // accept4; ACCEPT
	Connect                 // connect; CONNECT. EINTR: it goes on all the same
	SocketError             // getsockopt SO_ERROR; none
	Recv                    // recvfrom; RECV
	Send                    // sendto; SEND
	RecvFrom                // recvmmsg; RECVMSG
	SendTo                  // sendmmsg; SENDMSG
	Control                 // epoll_ctl; POLL_ADD of a Watch
	Wait                    // epoll_pwait2; io_uring_enter
	WakeRead                // read of the eventfd; READ
	WakeWrite               // write to the eventfd
	Timer                   // timerfd_create and timerfd_settime; TIMEOUT
	SyncCancel              // none; io_uring_register
	Complete                // none; a completion, which is dropped for any errno
	calls
)

var names = [calls]string{
	"accept", "connect", "socket error", "recv", "send", "recvfrom", "sendto", "control", "wait",
	"wake read", "wake write", "timer", "sync cancel",
	"complete",
}

// String is the kind's name in lower case.
func (c Call) String() string {
	if c < calls {
		return names[c]
	}
	return fmt.Sprintf("call(%d)", uint8(c))
}
