//go:build (unix && !linux) || kqueue

package reactor

import (
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// kqueue is the poller over kqueue (Lemon, USENIX 2001). It has two filters for each descriptor,
// with EV_CLEAR, which makes them edge-triggered. To watch a descriptor it adds two changes to a
// list. The next wait passes the list to the kernel, so they cost no system call of their own.
//
// The kernel removes the filters when the descriptor is closed. An event that is in events by then
// may be taken for one of the next descriptor with that number. The next one can only have been
// registered since the wait began: then its changes are still listed.
//
// The system's calls are openQueue, and queue.kevent, trigger and close (kqueue_*.go).
type kqueue struct {
	kernel kernel
	queue  queue
	waker  waker

	changes []keventT // changes since the last prepare; the readiness's mutex guards them
	given   []keventT // changes passed to the wait in progress

	// Used by Poll and Rescue only.
	events []keventT
	limit  unix.Timespec
	woken  bool // a Rescue took a wake-up, which is kept for the owner
}

var kqueueBackend = backend{name: "kqueue", probe: probeKqueue, open: openKqueue, unlocked: true}

func probeKqueue(*Config) error {
	q, err := openQueue()
	if err != nil {
		return explainLimit(err)
	}
	q.close()
	return nil
}

func openKqueue(cfg *Config) (Reactor, error) {
	q, err := openQueue()
	if err != nil {
		return nil, explainLimit(err)
	}
	k := newKernel(cfg)
	p := &kqueue{kernel: k, queue: q, waker: waker{kernel: k, closed: true}, events: make([]keventT, 256)}
	if err := p.openWaker(!slices.Contains(cfg.Without, FeatureUserWake)); err != nil {
		p.close()
		return nil, explainLimit(err)
	}
	k.renews(p.again)
	return openReadiness(cfg, k, p)
}

// wakeIdent identifies the user event. It is not a descriptor.
const wakeIdent = 0x5715

// openWaker opens a user event, or a pipe if the system has none.
func (p *kqueue) openWaker(user bool) error {
	if user && evfiltUser != noFilter {
		add := makeEvent(wakeIdent, evfiltUser, evAdd|evClear)
		if _, errno := p.queue.kevent([]keventT{add}, nil, nil, false); errno == 0 {
			p.waker.fd, p.waker.to, p.waker.call, p.waker.closed = -1, -1, p.queue.trigger, false
			return nil
		}
	}
	var ends [2]int
	if err := pipeNonblock(&ends); err != nil {
		return err
	}
	p.waker.fd, p.waker.to, p.waker.closed = ends[0], ends[1], false
	add := makeEvent(p.waker.fd, evfiltRead, evAdd) // level-triggered: reported until it is read
	_, errno := p.queue.kevent([]keventT{add}, nil, nil, false)
	return os.NewSyscallError("kevent", errnoErr(errno))
}

func (p *kqueue) name() string { return "kqueue" }

func (p *kqueue) wake() error { return p.waker.wake() }

func (p *kqueue) close() {
	p.kernel.close()
	p.waker.close()
	p.queue.close()
}

func (p *kqueue) watch(fd int, f *fdState) error {
	if _, errno := p.kernel.next(faults.Control, fd, 1); errno != 0 {
		return os.NewSyscallError("kevent", errno)
	}
	if p.kernel.faults != nil {
		p.kernel.faults.watches(fd, 0, f.inKind == Watch)
	}
	p.changes = append(p.changes, makeEvent(fd, evfiltRead, evAdd|evClear), makeEvent(fd, evfiltWrite, evAdd|evClear))
	return nil
}

// widen does nothing: watch registers both filters, which costs no more.
func (p *kqueue) widen(int, *fdState) error { return nil }

// again makes the kernel report the whole state of a descriptor: a filter that is added again is
// evaluated anew.
func (p *kqueue) again(fd int, _ uint32) {
	for _, filter := range []int{evfiltRead, evfiltWrite} {
		_, _ = p.queue.kevent([]keventT{makeEvent(fd, filter, evAdd|evClear)}, nil, nil, false)
	}
}

// forget removes listed changes, which would apply to the next descriptor with this number.
func (p *kqueue) forget(fd int, _ *fdState) {
	p.kernel.unwatches(fd)
	p.changes = slices.DeleteFunc(p.changes, func(ev keventT) bool { return int(ev.Ident) == fd })
}

func (p *kqueue) unwatch(fd int, f *fdState) bool {
	p.forget(fd, f)
	for _, filter := range []int{evfiltRead, evfiltWrite} { // fails if the change that adds it was not made yet
		_, _ = p.queue.kevent([]keventT{makeEvent(fd, filter, evDelete)}, nil, nil, false)
	}
	return true
}

// listed reports whether changes for a descriptor are listed for the next wait.
func (p *kqueue) listed(fd int) bool {
	return slices.ContainsFunc(p.changes, func(ev keventT) bool { return int(ev.Ident) == fd })
}

func (p *kqueue) prepare() {
	if len(p.changes) == 0 {
		return
	}
	p.given, p.changes = p.changes, p.given[:0]
	if len(p.events) < len(p.given) { // each change may return an error as an event
		p.events = make([]keventT, len(p.given))
	}
}

func (p *kqueue) unsent() bool { return len(p.changes) > 0 }

// wait is kevent. An interrupted kevent has made its changes, as the manual says.
func (p *kqueue) wait(wait time.Duration, hold bool) (int, syscall.Errno) {
	given := p.given
	p.given = p.given[:0]
	_, fault := p.kernel.next(faults.Wait, p.queue.descriptor(), 1)
	if fault != 0 && len(given) == 0 {
		return 0, fault
	}
	var limit *unix.Timespec
	if p.woken || fault != 0 {
		wait = 0
	}
	if wait >= 0 {
		p.limit = unix.NsecToTimespec(wait.Nanoseconds())
		limit = &p.limit
	}
	return p.queue.kevent(given, p.events, limit, hold || wait == 0)
}

func (p *kqueue) tell(r *readiness, n int, rescue bool) {
	for i := range p.events[:n] {
		ev := &p.events[i]
		filter, fd := int(ev.Filter), int(ev.Ident)
		if filter == evfiltUser || fd == p.waker.fd {
			p.woken = true
			continue
		}
		f := r.table.get(fd)
		if f == nil || !f.watched || p.listed(fd) {
			continue // closed, and perhaps opened again, since the kernel queued this event
		}
		switch {
		case ev.Flags&evError != 0:
			r.refused(fd, f, syscall.Errno(ev.Data))
		case filter == evfiltRead:
			r.edge(fd, f, promise{in: true, ended: ev.Flags&evEOF != 0, hung: ev.Flags&evEOF != 0 && ev.Fflags != 0, left: int32(min(ev.Data, math.MaxInt32))})
		case filter == evfiltWrite:
			r.edge(fd, f, promise{out: true})
		}
	}
	if p.woken && !rescue {
		p.woken = false
		if p.waker.fd >= 0 {
			p.waker.drain()
		}
		p.waker.noticed()
	}
}

// refused ends the operations on a descriptor that the kernel does not watch.
func (r *readiness) refused(fd int, f *fdState, errno syscall.Errno) {
	f.watched = false
	if f.traits&forHangup != 0 {
		r.endHangup(fd, f, -int(errno))
	}
	if f.inKind != 0 {
		r.done.push(Completion{Token: f.inTok, Kind: f.inKind, Res: -int(errno)})
		f.inKind = 0
	}
	if f.outKind != 0 {
		r.finishOut(f, -int(errno))
	}
}

func errnoErr(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
