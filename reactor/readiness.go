//go:build unix || windows

package reactor

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A poller is what epoll, kqueue and IOCP differ in: it has the kernel say when a
// descriptor becomes ready. It is edge-triggered, that is it tells of what has changed, and of
// all that is true of a descriptor when that is first watched; or else armed.
//
// wait is called by one goroutine at a time, which Poll and Rescue see to, and close and
// wake by any; the rest under the readiness's mutex.
type poller interface {
	name() string

	// watch has a descriptor watched for input, and with forRoom for output, of which most never
	// have to wait. widen has one watched for that too which was not. The errors match the errno.
	watch(fd int, f *fdState) error
	widen(fd int, f *fdState) error

	// forget is called before a descriptor that is watched is closed, which ends that.
	forget(fd int, f *fdState)

	// prepare is called before wait. unsent reports whether watch has left something for
	// a wait that begins after this.
	prepare()
	unsent() bool

	// wait returns how many events there are, which then lie untouched until the next
	// wait. tell passes them to edge and to woken; for a rescuer, a wake-up stays for
	// the owner's next wait.
	wait(wait time.Duration, hold bool) (int, syscall.Errno)
	tell(r *readiness, n int, rescue bool)

	wake() error
	close()
}

// An armed poller tells only of what it was asked for, once, be that there already. Its
// methods are called under the readiness's mutex.
type armed interface {
	poller

	// await has the next news told, in each direction in which an operation is in flight for
	// which nothing is promised. It may find at once that there is news, and set f.in or f.out.
	await(fd int, f *fdState)

	// cancelled says that an operation is not in flight any more: nothing may be done for
	// it from now on that could be lost.
	cancelled(fd int, k Kind)
}

// readiness emulates completion on a poller: it remembers what an edge promised, makes
// the system call itself, and reports the outcome.
//
// Any goroutine may submit and release, so a mutex guards what an operation
// touches. Poll and Rescue, which exclude each other by the contract, hold it
// too, except while they wait. The events they get lie untouched until they have
// it again; what was submitted meanwhile is met by them as by any later edge,
// and what was closed meanwhile is known not to be meant (fdState.seq).
type readiness struct {
	cfg    Config
	kernel kernel
	poller poller
	armed  armed // the poller, if it is one; else nil
	closed atomic.Bool

	coalesce coalescer // Poll's

	mu      sync.Mutex
	waiting bool // Poll waits: what gets in line or done has to wake it
	table   fdTable
	spare   []*outgoing     // not in use
	hangups map[int]Token   // by descriptor, of those with forHangup
	done    completionQueue // outcomes known, not yet handed out
	ready   []readyFD       // descriptors an edge promised something for
	next    []readyFD       // the same for the next Poll; swapped with ready

	mem     *pool     // but for drop
	packets *packets  // nil before the first RecvFrom
	filling int32     // the buffer being filled, or -1
	whole   []uint16  // buffers to fill next; the last released is the warmest
	starved []readyFD // wait for a buffer
	got     int       // bytes received by this Poll
	turns   int       // Polls in a row that have not waited
}

// maxReceive is how much one Poll receives, about, before handlers have a turn: what
// they are given should still be in the cache. The rest has its turn with the next one.
const maxReceive = 128 << 10

// maxServed is how many descriptors one Poll serves, for the same reason: what the kernel
// has of each is to be in the cache when its handler answers. The rest has its turns with
// the next ones, of which as many as maxTurns, for all that one wait tells of, do not
// ask for more.
const (
	maxServed = 64
	maxTurns  = 4
)

// minReceive is the least room worth a read: below it the next buffer is taken.
const minReceive = 2048

// maxAccepts bounds the connections one listener accepts in one Poll.
const maxAccepts = 64

// openReadiness makes a reactor of a poller, which it closes if it cannot.
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

// feedStarved puts what waits for a buffer back in line.
func (r *readiness) feedStarved() {
	for _, s := range r.starved {
		if f := r.table.get(s.fd); f.seq == s.seq {
			f.line &^= inStarved
			r.enqueue(s.fd, f)
		}
	}
	r.starved = r.starved[:0]
}

// unlock ends a Submit or a Release, which may have left Poll something to do.
// The owner's own never finds it waiting.
func (r *readiness) unlock() {
	wake := r.waiting && (len(r.ready) > 0 || !r.done.empty() || r.poller.unsent())
	r.mu.Unlock()
	if wake {
		_ = r.poller.wake() // which does not fail on descriptors of ours
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
		return n, nil // there is something to do; new events can wait for the next call
	}
	if len(r.ready) > 0 {
		if r.turns < maxTurns {
			r.turns++
			return r.serve(out, n), nil
		}
		wait = 0
	}
	r.turns = 0
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

// events deals with what a wait has come to.
func (r *readiness) events(out []Completion, n, events int, errno syscall.Errno, rescue bool) (int, error) {
	if errno != 0 && errno != syscall.EINTR {
		return n, os.NewSyscallError(r.poller.name()+" wait", errno)
	}
	r.poller.tell(r, max(0, events), rescue)
	return r.serve(out, n), nil
}

// A promise is what an edge tells of a descriptor.
type promise struct {
	in, out bool
	hung    bool  // the peer has reset the connection, or it was lost
	ahead   bool  // what has come ends in FIN, a reset, an error or urgent data
	left    int32 // there are at least that many bytes to read; 0: some
}

// edge notes a promise.
func (r *readiness) edge(fd int, f *fdState, p promise) {
	f.in = f.in || p.in
	f.out = f.out || p.out
	f.ahead = f.ahead || p.ahead
	f.left = max(f.left, p.left)
	if p.hung && f.traits&forHangup != 0 {
		r.endHangup(fd, f, 0)
	}
	r.enqueue(fd, f)
}

// enqueue puts a descriptor in line for the next serve, if an edge and an
// operation meet there.
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
