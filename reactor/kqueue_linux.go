//go:build kqueue

package reactor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/kevent"
)

// The interface of the kqueue backend to the system, here an emulation for tests.

var emulated = []backend{kqueueBackend}

type (
	keventT = kevent.Event
	queue   struct{ *kevent.Queue }
)

const (
	evfiltRead  = kevent.EVFILT_READ
	evfiltWrite = kevent.EVFILT_WRITE
	evfiltUser  = kevent.EVFILT_USER
	noFilter    = -1 << 15

	evAdd    = kevent.EV_ADD
	evDelete = kevent.EV_DELETE
	evClear  = kevent.EV_CLEAR
	evError  = kevent.EV_ERROR
	evEOF    = kevent.EV_EOF
)

func openQueue() (queue, error) {
	q, err := kevent.New()
	return queue{q}, err
}

func (q queue) descriptor() int { return q.FD() }

func (q queue) close() { q.Close() }

func makeEvent(ident, filter, flags int) keventT {
	return keventT{Ident: uint64(ident), Filter: int16(filter), Flags: uint16(flags)}
}

func (q queue) kevent(changes, events []keventT, limit *unix.Timespec, _ bool) (int, syscall.Errno) {
	return q.Kevent(changes, events, limit)
}

func (q queue) trigger() syscall.Errno {
	_, errno := q.Kevent([]keventT{{Ident: wakeIdent, Filter: evfiltUser, Fflags: kevent.NOTE_TRIGGER}}, nil, nil)
	return errno
}

func pipeNonblock(ends *[2]int) error {
	return os.NewSyscallError("pipe2", unix.Pipe2(ends[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
}
