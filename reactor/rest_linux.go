package reactor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A rest is a wait in Go's poller. In a system call that blocks, a thread keeps its P until Go's
// monitor takes that away, after up to 10 ms in which it looks some 60 times. In Go's poller the
// owner parks like any goroutine, and its thread runs other goroutines. When an event occurs, an
// idle thread finds the owner, and then the goroutines that the owner makes ready, without another
// wake-up.
//
// Go's poller does not watch the reactor's descriptor itself, since the events of a busy reactor
// would wake an idle thread. It watches a gate: an epoll instance that watches the descriptor while
// the gate is open. Go's poller is edge-triggered. It remembers an edge from the begin of the wait
// on. The reactor is polled after that begin and while the gate is open, so no event is lost.
type rest struct {
	gate   int
	of     int // the descriptor
	isOpen bool
	busy   int // polls since the last rest
	file   *os.File
	raw    syscall.RawConn
	timed  bool // the file has a deadline

	poll func(uintptr) bool // a field: a new function would be an allocation
}

// closeAfter is how many polls without a rest close the gate. A reactor that rests for each event
// leaves it open.
const closeAfter = 8

// newRest prepares rests for the owner of a descriptor. poll must poll the reactor without waiting,
// and reports whether the rest is over.
func newRest(of int, poll func() bool) (*rest, error) {
	gate, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, explainLimit(os.NewSyscallError("epoll_create1", err))
	}
	if err = unix.SetNonblock(gate, true); err != nil { // so that NewFile registers it with the poller
		_ = unix.Close(gate)
		return nil, os.NewSyscallError("fcntl", err)
	}
	r := &rest{gate: gate, of: of, file: os.NewFile(uintptr(gate), "epoll")}
	r.poll = func(uintptr) bool { return poll() }
	if err = r.file.SetReadDeadline(time.Time{}); err != nil {
		err = fmt.Errorf("reactor: Go's poller does not take an epoll descriptor: %w", err)
	} else {
		r.raw, err = r.file.SyscallConn()
	}
	if err != nil {
		_ = r.file.Close()
		return nil, err
	}
	return r, nil
}

// wait returns when a poll says that the rest is over, or after that time; below 0 it has no bound.
func (r *rest) wait(wait time.Duration) error {
	r.busy = 0
	if wait > 0 || r.timed {
		var until time.Time
		if r.timed = wait > 0; r.timed {
			until = time.Now().Add(wait)
		}
		if err := r.file.SetReadDeadline(until); err != nil {
			return err
		}
	}
	if err := r.raw.Read(r.poll); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// open lets the descriptor's events through from now on.
func (r *rest) open() {
	if !r.isOpen {
		r.isOpen = r.watch(unix.EPOLL_CTL_ADD) == nil
	}
}

func (r *rest) shut() {
	if r.isOpen {
		r.isOpen = r.watch(unix.EPOLL_CTL_DEL) != nil
	}
}

// watch adds the descriptor to the gate, or removes it. While an epoll instance is in another one,
// the kernel looks for loops whenever a descriptor is added to it.
func (r *rest) watch(op int) error {
	return unix.EpollCtl(r.gate, op, r.of, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r.of)})
}

// polled counts a poll that is no rest. The gate shuts when there were several in a row.
func (r *rest) polled() {
	if r.isOpen {
		if r.busy++; r.busy > closeAfter {
			r.shut()
		}
	}
}

func (r *rest) close() { _ = r.file.Close() }
