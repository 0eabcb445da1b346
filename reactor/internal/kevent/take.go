//go:build kqueue

package kevent

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

// take fills events with the active knotes that are true now.
func (q *Queue) take(events []Event) (n int, errno syscall.Errno) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, unix.EBADF
	}
	if errno := q.gather(); errno != 0 {
		return 0, errno
	}
	turn := q.active
	q.active = nil
	for i, k := range turn {
		if n == len(events) {
			q.active = append(q.active, turn[i:]...)
			break
		}
		k.queued = false
		if k.gone || q.stale(k.file) {
			continue
		}
		if k.disabled { // evaluated when it is enabled, which activates it
			continue
		}
		ev := Event{Ident: k.ident, Filter: k.filter, Flags: k.flags, Udata: k.udata}
		if !k.holds(&ev) {
			continue
		}
		events[n] = ev
		n++
		switch {
		case k.flags&EV_ONESHOT != 0:
			q.drop(k)
		case k.flags&EV_DISPATCH != 0:
			k.disabled = true
		case k.flags&EV_CLEAR != 0:
			k.happened, k.fflags = false, 0
		default:
			q.activate(k)
		}
	}
	return n, 0
}

// gather activates the knotes for which epoll has events. Events of a closed file that another
// descriptor keeps registered have another number.
func (q *Queue) gather() syscall.Errno {
	var told [64]unix.EpollEvent
	for {
		n, err := unix.EpollWait(q.epoll, told[:], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err.(syscall.Errno)
		}
		for _, ev := range told[:n] {
			if int(ev.Fd) == q.kick {
				var count [8]byte
				_, _ = unix.Read(q.kick, count[:])
				continue
			}
			f := q.files[int(ev.Fd)]
			if f == nil || f.seq != uint32(ev.Pad) {
				continue
			}
			for _, k := range f.knotes {
				q.activate(k)
			}
		}
		if n < len(told) {
			return 0
		}
	}
}

// holds reports whether a knote is true now, and fills in the event.
func (k *knote) holds(ev *Event) bool {
	switch k.filter {
	case EVFILT_USER:
		ev.Fflags = k.fflags
		return k.happened
	case EVFILT_TIMER:
		var due [8]byte
		if n, err := unix.Read(k.file.fd, due[:]); err != nil || n != len(due) {
			return false
		}
		ev.Data = int64(binary.NativeEndian.Uint64(due[:]))
		return true
	case EVFILT_WRITE:
		return k.file.writable(ev)
	default:
		return k.file.readable(ev)
	}
}
