package reactor

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll emulates completion on edge-triggered readiness: it remembers what an
// edge promised, makes the system call itself, and reports the outcome.
//
// Any goroutine may submit and release, so a mutex guards what an operation
// touches. Poll and Rescue, which exclude each other by the contract, hold it
// too, except while they wait. The events they get lie untouched until they have
// it again; what was submitted meanwhile is met by them as by any later edge,
// and what was closed meanwhile has another sequence number.
type epoll struct {
	cfg    Config
	fd     int   // the epoll descriptor
	waker  waker // registered level-triggered
	closed atomic.Bool

	// Poll's and Rescue's.
	hold    holdTimer
	events  []unix.EpollEvent
	limit   kernelTimespec // of the wait; here because the kernel reads it, and the heap does not move
	noWait2 bool           // epoll_pwait2 is missing (before Linux 5.11)
	nested  *nested        // waits in Go's poller; nil: in the kernel

	mu      sync.Mutex
	waiting bool // Poll waits: what gets in line or done has to wake it
	table   fdTable
	done    completionQueue // outcomes known, not yet handed out
	ready   []readyFD       // descriptors an edge promised something for
	next    []readyFD       // the same for the next Poll; swapped with ready

	mem     *pool     // but for drop
	packets *packets  // nil before the first RecvFrom
	filling int32     // the buffer being filled, or -1
	whole   []uint16  // buffers to fill next; the last released is the warmest
	starved []readyFD // wait for a buffer
	got     int       // bytes received by this Poll
}

// maxReceive is how much one Poll receives, about, before handlers have a turn: what
// they are given should still be in the cache. The rest has its turn with the next one.
const maxReceive = 128 << 10

// minReceive is the least room worth a read: below it the next buffer is taken.
const minReceive = 2048

// maxAccepts bounds the connections one listener accepts in one Poll.
const maxAccepts = 64

func probeEpoll(*Config) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return explainEpoll(os.NewSyscallError("epoll_create1", err))
	}
	return unix.Close(fd)
}

func explainEpoll(err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("%w; raise the limit on open files (ulimit -n)", err)
	}
	return err
}

func openEpoll(cfg *Config) (_ Reactor, err error) {
	r := &epoll{cfg: *cfg, fd: -1, waker: waker{closed: true}, hold: holdTimer{fd: -1}, filling: -1, events: make([]unix.EpollEvent, 256)}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	if r.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, explainEpoll(os.NewSyscallError("epoll_create1", err))
	}
	if err = r.waker.open(unix.EFD_NONBLOCK); err != nil {
		return nil, explainEpoll(err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r.waker.fd)}
	if err = unix.EpollCtl(r.fd, unix.EPOLL_CTL_ADD, r.waker.fd, &ev); err != nil {
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	if cfg.Unlocked {
		if r.nested, err = newNested(r.fd); err != nil {
			return nil, err
		}
	}
	if r.mem, err = newPool(cfg.Buffers, cfg.BufferSize); err != nil {
		return nil, err
	}
	for id := cfg.Buffers - 1; id >= 0; id-- {
		r.whole = append(r.whole, uint16(id))
	}
	return r, nil
}

func (r *epoll) Name() string { return "epoll" }

func (r *epoll) Carrier(Reactor) Reactor { return r }

func (r *epoll) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Swap(true) {
		return ErrClosed
	}
	if r.nested != nil {
		r.nested.close()
	}
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
	}
	if r.hold.fd >= 0 {
		_ = unix.Close(r.hold.fd)
	}
	r.waker.close()
	if r.packets != nil {
		_ = r.packets.mem.close()
	}
	if r.mem != nil {
		return r.mem.close()
	}
	return nil
}

func (r *epoll) Wake() error { return r.waker.wake() }

func (r *epoll) Release(b Buffer) {
	if b.packet {
		r.releasePacket(b)
		return
	}
	if r.closed.Load() || !r.mem.drop(b.id) {
		return
	}
	r.mu.Lock()
	defer r.unlock()
	r.whole = append(r.whole, b.id)
	r.feedStarved()
}

// feedStarved puts what waits for a buffer back in line.
func (r *epoll) feedStarved() {
	for _, s := range r.starved {
		if f := r.table.get(s.fd); f.seq == s.seq {
			f.starved = false
			r.enqueue(s.fd, f)
		}
	}
	r.starved = r.starved[:0]
}

// unlock ends a Submit or a Release, which may have left Poll something to do.
// The owner's own never finds it waiting.
func (r *epoll) unlock() {
	wake := r.waiting && (len(r.ready) > 0 || !r.done.empty())
	r.mu.Unlock()
	if wake {
		_ = r.waker.wake() // writing to an eventfd of ours does not fail
	}
}

func (r *epoll) Poll(out []Completion, wait time.Duration, hold bool) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, ErrClosed
	}
	n := r.done.take(out)
	if n > 0 && wait != 0 || n == len(out) {
		return n, nil // there is something to do; new events can wait for the next call
	}
	if len(r.ready) > 0 {
		wait = 0
	}
	r.waiting = wait != 0
	if r.waiting {
		r.mu.Unlock()
	}
	events, errno := r.wait(wait, hold)
	if r.waiting { // only Poll writes it
		r.mu.Lock()
		r.waiting = false
	}
	if errno != 0 && errno != unix.EINTR {
		return n, os.NewSyscallError("epoll_pwait2", errno)
	}
	for i := range events {
		r.edge(&r.events[i])
	}
	return r.serve(out, n), nil
}

// Rescue leaves wake-ups alone: the waker is level-triggered.
func (r *epoll) Rescue(out []Completion) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, ErrClosed
	}
	n := r.done.take(out)
	if n == len(out) {
		return n, nil
	}
	events, errno := r.wait(0, false)
	if errno != 0 && errno != unix.EINTR {
		return n, os.NewSyscallError("epoll_pwait2", errno)
	}
	for i := range events {
		if int(r.events[i].Fd) != r.waker.fd {
			r.edge(&r.events[i])
		}
	}
	return r.serve(out, n), nil
}

// wait is epoll_pwait2, or epoll_pwait where it is missing.
func (r *epoll) wait(wait time.Duration, hold bool) (int, syscall.Errno) {
	if r.nested != nil && wait != 0 {
		return r.nested.wait(r, wait)
	}
	syscall6 := unix.Syscall6
	if hold || wait == 0 {
		syscall6 = unix.RawSyscall6
	}
	events, most := uintptr(unsafe.Pointer(unsafe.SliceData(r.events))), uintptr(len(r.events))
	if hold && wait > 0 && r.hold.arm(r.fd, wait) {
		wait = -1
	}
	if !r.noWait2 {
		var limit *kernelTimespec
		if wait >= 0 {
			r.limit = makeTimespec(wait)
			limit = &r.limit
		}
		n, _, errno := syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(r.fd), events, most, uintptr(unsafe.Pointer(limit)), 0, 0)
		if errno != unix.ENOSYS {
			return int(n), errno
		}
		r.noWait2 = true
	}
	ms := -1
	if wait >= 0 {
		ms = int((wait + time.Millisecond - 1) / time.Millisecond)
	}
	n, _, errno := syscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.fd), events, most, uintptr(ms), 0, 0)
	return int(n), errno
}

// edge notes what an event promises.
func (r *epoll) edge(ev *unix.EpollEvent) {
	if int(ev.Fd) == r.waker.fd {
		var count [8]byte
		_, _ = recvNonblock(r.waker.fd, count[:])
		r.waker.noticed()
		return
	}
	if int(ev.Fd) == r.hold.fd {
		r.hold.armed = false
		return
	}
	f := r.table.get(int(ev.Fd))
	if f == nil || !f.added || f.seq != uint32(ev.Pad) {
		return // closed, or closed and opened again, since the kernel queued this
	}
	if ev.Events&(unix.EPOLLIN|unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		f.in = true
	}
	if ev.Events&(unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		f.ahead = true
	}
	if ev.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		f.out = true
	}
	r.enqueue(int(ev.Fd), f)
}

// enqueue puts a descriptor in line for the next serve, if an edge and an
// operation meet there.
func (r *epoll) enqueue(fd int, f *fdState) {
	in := f.in && f.inKind != 0 && !f.starved
	if f.queued || !in && !(f.out && f.outKind != 0) {
		return
	}
	f.queued = true
	r.ready = append(r.ready, readyFD{fd: fd, seq: f.seq})
}
