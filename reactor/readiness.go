//go:build unix || windows

package reactor

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A poller is the part that differs between epoll, kqueue and IOCP. It makes the kernel report when
// a descriptor becomes ready. It is edge-triggered or armed. An edge-triggered poller reports
// changes, and the whole state of a descriptor when it begins to watch that.
//
// One goroutine at a time calls wait: Poll and Rescue ensure that. Any goroutine may call close and
// wake. The other methods are called under the readiness's mutex.
type poller interface {
	name() string

	// watch watches a descriptor for input, and with forRoom for output: most descriptors without a
	// Watch never wait for output. If it is watched already, its state is reported anew. widen adds
	// output. The errors match the errno.
	watch(fd int, f *fdState) error
	widen(fd int, f *fdState) error

	// forget is called before a watched descriptor is closed. The close ends the watch.
	forget(fd int, f *fdState)

	// unwatch ends the watch of a descriptor that stays open. It returns false if the poller keeps
	// the descriptor, and reports nothing unless it is asked.
	unwatch(fd int, f *fdState) bool

	// prepare is called before wait. unsent reports whether watch has left changes that need a new
	// wait.
	prepare()
	unsent() bool

	// wait returns the number of events, which stay untouched until the next wait. tell passes them
	// to edge and to woken. For a rescuer, a wake-up stays for the owner's next wait.
	wait(wait time.Duration, hold bool) (int, syscall.Errno)
	tell(r *readiness, n int, rescue bool)

	wake() error
	close()
}

// An armed poller reports only requested events, once each, also those that occurred before. Its
// methods are called under the readiness's mutex.
type armed interface {
	poller

	// await requests the next event, in each direction in which an operation is in flight that has
	// no promise. If an event has occurred already, it may set f.in or f.out at once.
	await(fd int, f *fdState)

	// canceled says that an operation is not in flight any more. From now on the poller may do
	// nothing for it whose result could be lost.
	canceled(fd int, k Kind)

	// rewatch notes the directions in which await is to request the next edge of a Watch.
	rewatch(fd int, directions Edge)
}

// readiness emulates completion on a poller: it remembers the promise of an edge, makes the system
// call itself, and reports the result.
//
// Any goroutine may submit and release, so a mutex guards the state that an operation uses. Poll
// and Rescue, which exclude each other by the contract, hold it too, except while they wait. Their
// events stay untouched until they hold it again. Operations that were submitted meanwhile see them
// as later edges. fdState.seq identifies descriptors that were closed meanwhile.
type readiness struct {
	cfg    Config
	kernel kernel
	poller poller
	armed  armed // the poller, if it is an armed one; else nil
	closed atomic.Bool

	coalesce coalescer // used by Poll only

	mu      sync.Mutex
	waiting bool // Poll waits: a descriptor that is queued, or a result, must wake it
	table   fdTable
	spare   []*outgoing     // for reuse
	hangups map[int]Token   // by descriptor, for those with forHangup
	done    completionQueue // results that were not handed out yet
	ready   []readyFD       // descriptors with a promise
	next    []readyFD       // descriptors for the next Poll; swapped with ready

	mem     *pool     // except drop
	packets *packets  // nil before the first RecvFrom
	filling int32     // the buffer being filled, or -1
	whole   []uint16  // buffers to fill next; the last released one is likely in the cache
	starved []readyFD // descriptors that wait for a buffer
	got     int       // bytes received by this Poll
	polls   int       // number of Polls in a row that have not waited
}

// maxReceive is about how many bytes one Poll receives before handlers run: the bytes should still
// be in the cache then. The next Poll receives the rest.
const maxReceive = 128 << 10

// maxServed is how many descriptors one Poll serves, also because of the cache: the kernel's state
// of each should be in it when its handler answers. The next Polls serve the rest. Up to maxPolls
// Polls in a row serve the events of one wait before new events are requested.
const (
	maxServed = 64
	maxPolls  = 4
)

// maxAccepts bounds the connections one listener accepts in one Poll.
const maxAccepts = 64

// openReadiness makes a reactor of a poller. If that fails it closes the poller.
func openReadiness(cfg *Config, k kernel, p poller) (Reactor, error) {
	r := &readiness{cfg: *cfg, kernel: k, poller: p, filling: -1}
	r.armed, _ = p.(armed)
	if cfg.Coalesce > 0 && !cfg.Unlocked {
		r.coalesce.limit = cfg.Coalesce
		r.coalesce.napper, _ = p.(napper)
	}
	var err error
	if r.mem, err = newPool(cfg.Buffers, cfg.BufferSize); err != nil {
		p.close()
		return nil, err
	}
	for id := cfg.Buffers - 1; id >= 0; id-- {
		r.whole = append(r.whole, uint16(id))
	}
	return r, nil
}

func (r *readiness) Name() string { return r.poller.name() }

func (r *readiness) Carrier(Reactor) Reactor { return r }

func (r *readiness) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Swap(true) {
		return ErrClosed
	}
	r.poller.close()
	if r.packets != nil {
		_ = r.packets.mem.close()
	}
	return r.mem.close()
}

func (r *readiness) Wake() error { return r.poller.wake() }

func (r *readiness) Release(b Buffer) {
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

// feedStarved queues the descriptors that wait for a buffer again.
func (r *readiness) feedStarved() {
	for _, s := range r.starved {
		if f := r.table.get(s.fd); f.seq == s.seq {
			f.line &^= inStarved
			r.enqueue(s.fd, f)
		}
	}
	r.starved = r.starved[:0]
}

// unlock ends a Submit or a Release, which may have left work for Poll. When the owner itself calls
// it, Poll is not waiting.
func (r *readiness) unlock() {
	wake := r.waiting && (len(r.ready) > 0 || !r.done.empty() || r.poller.unsent())
	r.mu.Unlock()
	if wake {
		_ = r.poller.wake() // does not fail on the reactor's own descriptors
	}
}

func (r *readiness) Poll(out []Completion, wait time.Duration, hold bool) (int, error) {
	n, err := r.poll(out, wait, hold)
	r.coalesce.brought(n)
	return n, err
}

func (r *readiness) poll(out []Completion, wait time.Duration, hold bool) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, ErrClosed
	}
	n := r.done.take(out)
	if n > 0 && wait != 0 || n == len(out) {
		return n, nil // there is work; new events can wait for the next call
	}
	if len(r.ready) > 0 {
		if r.polls < maxPolls {
			r.polls++
			return r.serve(out, n), nil
		}
		wait = 0
	}
	r.polls = 0
	r.poller.prepare()
	r.waiting = wait != 0
	if r.waiting {
		r.mu.Unlock()
	}
	events, errno := r.wait(wait, hold)
	if r.waiting { // only Poll writes it
		r.mu.Lock()
		r.waiting = false
	}
	return r.events(out, n, events, errno, false)
}

func (r *readiness) Rescue(out []Completion) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, ErrClosed
	}
	n := r.done.take(out)
	if n == len(out) {
		return n, nil
	}
	r.poller.prepare()
	events, errno := r.poller.wait(0, false)
	return r.events(out, n, events, errno, true)
}

// events processes the result of a wait.
func (r *readiness) events(out []Completion, n, events int, errno syscall.Errno, rescue bool) (int, error) {
	if errno != 0 && errno != syscall.EINTR {
		return n, os.NewSyscallError(r.poller.name()+" wait", errno)
	}
	r.poller.tell(r, max(0, events), rescue)
	return r.serve(out, n), nil
}

// A promise is the state of a descriptor that an edge reports.
type promise struct {
	in, out bool
	ended   bool  // no more input will arrive: a FIN, a reset
	hung    bool  // the peer has reset the connection, or it was lost
	urgent  bool  // there is urgent data
	left    int32 // at least this number of bytes can be read; 0: some
}

// edge notes a promise.
func (r *readiness) edge(fd int, f *fdState, p promise) {
	if f.inKind == Watch {
		f.keepEdges(p.edges())
		r.enqueue(fd, f)
		return
	}
	f.in = f.in || p.in
	f.out = f.out || p.out
	f.ahead = f.ahead || p.ended || p.hung || p.urgent
	f.left = max(f.left, p.left)
	if p.hung && f.traits&forHangup != 0 {
		r.endHangup(fd, f, 0)
	}
	r.enqueue(fd, f)
}

// enqueue queues a descriptor for the next serve, if it has both a promise and an operation.
func (r *readiness) enqueue(fd int, f *fdState) {
	if r.armed != nil {
		r.armed.await(fd, f)
	}
	in := f.in && f.inKind != 0 && f.line&inStarved == 0
	if f.line&inReady != 0 || !in && !(f.out && f.outKind != 0) {
		return
	}
	f.line |= inReady
	r.ready = append(r.ready, readyFD{fd: fd, seq: f.seq})
}
