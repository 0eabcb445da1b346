//go:build kqueue

package kevent

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Queue is a kqueue. Any goroutine may call Kevent, several at once.
type Queue struct {
	epoll int
	kick  int // eventfd: a knote was activated directly

	mu     sync.Mutex
	knotes map[key]*knote
	files  map[int]*file
	active []*knote // in the order of activation
	seq    uint32
	closed bool
}

type key struct {
	ident  uint64
	filter int16
}

// A knote is a filter that was added.
type knote struct {
	key
	flags    uint16
	fflags   uint32 // of EVFILT_USER
	udata    uintptr
	file     *file // of a descriptor or a timer
	queued   bool  // in active
	disabled bool
	gone     bool
	happened bool // EVFILT_USER was triggered
}

// A file is the file of a descriptor number, as registered with epoll.
type file struct {
	fd            int
	seq           uint32
	inode, device uint64
	timer         bool // the queue owns the descriptor
	connected     bool // it has had a peer
	knotes        []*knote
}

// New is kqueue(2).
func New() (*Queue, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	kick, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, kick, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(kick)})
		if err != nil {
			_ = unix.Close(kick)
		}
	}
	if err != nil {
		_ = unix.Close(epoll)
		return nil, os.NewSyscallError("kqueue", err)
	}
	return &Queue{epoll: epoll, kick: kick, knotes: map[key]*knote{}, files: map[int]*file{}}, nil
}

// FD returns a descriptor that identifies the queue.
func (q *Queue) FD() int { return q.epoll }

// Close is close(2) of the queue.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	for _, f := range q.files {
		if f.timer {
			_ = unix.Close(f.fd)
		}
	}
	_ = unix.Close(q.kick)
	_ = unix.Close(q.epoll)
}

// Kevent is kevent(2). A nil limit is no limit.
func (q *Queue) Kevent(changes, events []Event, limit *unix.Timespec) (int, syscall.Errno) {
	n, errno := q.change(changes, events)
	if n > 0 || errno != 0 || len(events) == 0 {
		return n, errno
	}
	var until time.Time
	if limit != nil {
		until = time.Now().Add(time.Duration(limit.Nano()))
	}
	for {
		n, errno := q.take(events)
		if n > 0 || errno != 0 {
			return n, errno
		}
		var rest *unix.Timespec
		if limit != nil {
			left := time.Until(until)
			if left <= 0 {
				return 0, 0
			}
			t := unix.NsecToTimespec(left.Nanoseconds())
			rest = &t
		}
		if _, err := unix.Ppoll([]unix.PollFd{{Fd: int32(q.epoll), Events: unix.POLLIN}}, rest, nil); err != nil {
			return 0, err.(syscall.Errno) // EINTR: the changes are made
		}
	}
}

// change makes changes. It returns events for those that failed or have a receipt.
func (q *Queue) change(changes, events []Event) (n int, errno syscall.Errno) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, unix.EBADF
	}
	for _, c := range changes {
		errno := q.apply(&c)
		if errno == 0 && c.Flags&EV_RECEIPT == 0 {
			continue
		}
		if n == len(events) {
			if errno != 0 {
				return n, errno
			}
			continue
		}
		c.Flags |= EV_ERROR
		c.Data = int64(errno)
		events[n] = c
		n++
	}
	return n, 0
}

func (q *Queue) apply(c *Event) syscall.Errno {
	k := q.find(c)
	if k == nil {
		if c.Flags&EV_ADD == 0 {
			return unix.ENOENT
		}
		var errno syscall.Errno
		if k, errno = q.add(c); errno != 0 {
			return errno
		}
	}
	if c.Flags&EV_DELETE != 0 {
		q.drop(k)
		return 0
	}
	if c.Flags&EV_ADD != 0 {
		k.udata, k.disabled = c.Udata, false
		if k.file != nil && !k.file.timer {
			if errno := q.register(k.file); errno != 0 {
				return errno
			}
		}
	}
	if c.Flags&EV_ENABLE != 0 {
		k.disabled = false
	}
	if c.Flags&EV_DISABLE != 0 {
		k.disabled = true
	}
	if c.Filter == EVFILT_USER {
		if c.Fflags&NOTE_FFCOPY == NOTE_FFCOPY {
			k.fflags = c.Fflags & NOTE_FFLAGMSK
		}
		k.happened = k.happened || c.Fflags&NOTE_TRIGGER != 0
	}
	q.activate(k) // when it is taken, it is evaluated
	_, _ = unix.Write(q.kick, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return 0
}

// find returns the knote of a change, if it has one and its descriptor still refers to the knote's
// file.
func (q *Queue) find(c *Event) *knote {
	k := q.knotes[key{c.Ident, c.Filter}]
	if k == nil || q.stale(k.file) {
		return nil
	}
	return k
}

// stale drops a file, and its knotes, if its descriptor was closed.
func (q *Queue) stale(f *file) bool {
	if f == nil || f.timer {
		return false
	}
	if inode, device, errno := identity(f.fd); errno == 0 && inode == f.inode && device == f.device {
		return false
	}
	for _, k := range slices.Clone(f.knotes) {
		q.drop(k)
	}
	return true
}

func identity(fd int) (inode, device uint64, errno syscall.Errno) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, 0, err.(syscall.Errno)
	}
	return st.Ino, uint64(st.Dev), 0
}

func (q *Queue) add(c *Event) (*knote, syscall.Errno) {
	k := &knote{key: key{c.Ident, c.Filter}, flags: c.Flags & (EV_ONESHOT | EV_CLEAR | EV_DISPATCH)}
	switch c.Filter {
	case EVFILT_USER:
	case EVFILT_TIMER:
		k.flags |= EV_CLEAR // as the manual says
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
		if err != nil {
			return nil, err.(syscall.Errno)
		}
		every := unix.NsecToTimespec(max(1, c.Data*int64(time.Millisecond)))
		spec := unix.ItimerSpec{Value: every, Interval: every}
		if err := unix.TimerfdSettime(fd, 0, &spec, nil); err != nil {
			_ = unix.Close(fd)
			return nil, err.(syscall.Errno)
		}
		k.file = &file{fd: fd, timer: true}
	case EVFILT_READ, EVFILT_WRITE:
		fd := int(c.Ident)
		inode, device, errno := identity(fd)
		if errno != 0 {
			return nil, errno
		}
		if k.file = q.files[fd]; k.file == nil || q.stale(k.file) {
			k.file = &file{fd: fd, inode: inode, device: device}
		}
	default:
		return nil, unix.EINVAL
	}
	if f := k.file; f != nil {
		f.knotes = append(f.knotes, k)
		if q.files[f.fd] != f {
			q.seq++
			f.seq = q.seq
			q.files[f.fd] = f
			if errno := q.register(f); errno != 0 {
				delete(q.files, f.fd)
				if f.timer {
					_ = unix.Close(f.fd)
				}
				return nil, errno
			}
		}
	}
	q.knotes[k.key] = k
	return k, 0
}

// register makes epoll report a file, including its present state.
func (q *Queue) register(f *file) syscall.Errno {
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(f.fd), Pad: int32(f.seq),
	}
	err := unix.EpollCtl(q.epoll, unix.EPOLL_CTL_ADD, f.fd, &ev)
	if err == unix.EEXIST { // registered already, or kept by another descriptor of the file
		err = unix.EpollCtl(q.epoll, unix.EPOLL_CTL_MOD, f.fd, &ev)
	}
	errno, _ := err.(syscall.Errno)
	if errno == unix.EPERM { // a regular file, which no test uses
		errno = unix.EINVAL
	}
	return errno
}

func (q *Queue) drop(k *knote) {
	k.gone = true
	delete(q.knotes, k.key)
	f := k.file
	if f == nil {
		return
	}
	f.knotes = slices.DeleteFunc(f.knotes, func(other *knote) bool { return other == k })
	if len(f.knotes) > 0 {
		return
	}
	if q.files[f.fd] == f {
		delete(q.files, f.fd)
		_ = unix.EpollCtl(q.epoll, unix.EPOLL_CTL_DEL, f.fd, nil) // fails if it is closed, or if the number was reused: see take
	}
	if f.timer {
		_ = unix.Close(f.fd)
	}
}

func (q *Queue) activate(k *knote) {
	if !k.queued {
		k.queued = true
		q.active = append(q.active, k)
	}
}
