//go:build unix && !linux

package reactor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The interface of the kqueue backend to the system.

type (
	keventT = unix.Kevent_t
	queue   int
)

const (
	evfiltRead  = unix.EVFILT_READ
	evfiltWrite = unix.EVFILT_WRITE
	noFilter    = -1 << 15 // stands for a filter that the system does not have

	evAdd    = unix.EV_ADD
	evDelete = unix.EV_DELETE
	evClear  = unix.EV_CLEAR
	evError  = unix.EV_ERROR
	evEOF    = unix.EV_EOF
)

func openQueue() (queue, error) {
	fd, err := unix.Kqueue()
	if err != nil {
		return -1, os.NewSyscallError("kqueue", err)
	}
	unix.CloseOnExec(fd) // no child inherits it by fork
	return queue(fd), nil
}

func (q queue) descriptor() int { return int(q) }

func (q queue) close() { _ = unix.Close(int(q)) }

func makeEvent(ident, filter, flags int) (ev keventT) {
	unix.SetKevent(&ev, ident, filter, flags)
	return ev
}

// kevent makes the changes and waits for events. It waits for limit, without a bound if limit is
// nil, and not at all if there is no room for events. hold says that the wait is short and should
// keep the Go scheduler's processor.
func (q queue) kevent(changes, events []keventT, limit *unix.Timespec, hold bool) (int, syscall.Errno) {
	if hold {
		return keventHolding(int(q), changes, events, limit)
	}
	n, err := unix.Kevent(int(q), changes, events, limit)
	return n, errnoOf(err)
}

// trigger triggers the user event.
func (q queue) trigger() syscall.Errno {
	ev := makeEvent(wakeIdent, evfiltUser, 0)
	ev.Fflags = noteTrigger
	_, err := unix.Kevent(int(q), []keventT{ev}, nil, nil)
	return errnoOf(err)
}

// pipeNonblock makes a pipe, close-on-exec and non-blocking.
func pipeNonblock(ends *[2]int) error {
	syscall.ForkLock.RLock() // darwin has no pipe2
	err := unix.Pipe(ends[:])
	if err == nil {
		unix.CloseOnExec(ends[0])
		unix.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return os.NewSyscallError("pipe", err)
	}
	for _, fd := range ends {
		if err := unix.SetNonblock(fd, true); err != nil {
			_ = unix.Close(ends[0])
			_ = unix.Close(ends[1])
			return os.NewSyscallError("fcntl", err)
		}
	}
	return nil
}
