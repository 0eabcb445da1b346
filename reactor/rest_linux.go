package reactor

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A rest is a wait that may be long. In a system call that blocks, a thread keeps its P until Go's
// monitor takes that away, after up to 10 ms in which it looks some 60 times. So the owner parks in
// Go's poller instead.
//
// Go's poller knows a gate, an epoll instance that watches the descriptor for one event, and only
// during a rest. So the events of a busy reactor wake no idle thread of Go's poller. No event is
// lost: to open the gate, the kernel looks at the descriptor once more, and what happens before
// Go's poller waits makes the gate readable.
type rest struct {
	gate  int
	of    int // the descriptor
	file  *os.File
	raw   syscall.RawConn
	timed bool // the file has a deadline

	look  func(uintptr) bool // a field: a new function would be an allocation
	event [1]unix.EpollEvent
}

// newRest is nil if Go's poller or the system does not take part; the owner then blocks.
func newRest(of int) *rest {
	gate, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	ev := unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(of)}
	if unix.EpollCtl(gate, unix.EPOLL_CTL_ADD, of, &ev) != nil || unix.SetNonblock(gate, true) != nil {
		_ = unix.Close(gate)
		return nil
	}
	r := &rest{gate: gate, of: of, file: os.NewFile(uintptr(gate), "gate")}
	r.look = func(uintptr) bool {
		n, err := unix.EpollWait(r.gate, r.event[:], 0)
		return n != 0 || err != nil
	}
	if err = r.file.SetReadDeadline(time.Time{}); err == nil { // else Go's poller has not taken it
		r.raw, err = r.file.SyscallConn()
	}
	if err != nil {
		r.close()
		return nil
	}
	return r
}

// wait returns when the descriptor is readable, or after that time; below 0 it has no bound. It may
// return early.
func (r *rest) wait(wait time.Duration) error {
	if wait > 0 || r.timed {
		var until time.Time
		if r.timed = wait > 0; r.timed {
			until = time.Now().Add(wait)
		}
		if err := r.file.SetReadDeadline(until); err != nil {
			return err
		}
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(r.of)}
	if err := unix.EpollCtl(r.gate, unix.EPOLL_CTL_MOD, r.of, &ev); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	if err := r.raw.Read(r.look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

func (r *rest) close() {
	if r != nil {
		_ = r.file.Close()
	}
}
