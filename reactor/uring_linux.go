package reactor

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// uringReactor is one ring. One turn of its worker is one system call: it submits the queued
// operations and returns new completions.
//
// Its state has three parts, which share only free and the starvation's active flag:
//
//   - Only the owner uses the submission side: Submit and Poll.
//   - One taker at a time uses the completion side, in Poll or in Rescue, which exclude each other
//     by the contract. A Submit that finds both queues full, or cancels a starved receive, uses it
//     as well. The owner calls it, so it does not run during a Poll. The mutex taking is between it
//     and a Rescue.
//   - Operations of other goroutines are in two lists, each under its own mutex.
type uringReactor struct {
	ring   *uring.Ring
	rest   *rest  // nil: a long wait is one in the kernel, without a P
	taken  uint32 // what the polls in a rest have submitted, and the error of the last one
	errno  unix.Errno
	has    features
	closed atomic.Bool
	waker  waker
	faults *uringFaults // nil: none

	// The submission side.
	sends     int            // sends with NoWait queued since the last Enter
	datagrams int            // datagrams with NoWait queued since then
	doubt     int            // number of Enters that do not wait for datagrams, because one has waited in vain
	addrs     []*rawSockaddr // of connects queued since the last Enter
	holdFor   uring.Timespec // of the time-out being submitted
	shortage  shortage       // of the kernel's memory
	flying    flying         // operations in flight, except batches
	watches   watches        // descriptors of Watches
	closing   []Op           // Closes of watched descriptors, until the queue has been submitted
	wakeBuf   [8]byte        // buffer of the waker's read; the struct is on the heap, which does not move

	// The completion side.
	taking    sync.Mutex // see the type's comment
	stash     completionQueue
	spare     [64]Completion // for completions that are taken early
	mem       *pool          // except drop
	bufs      *uring.BufRing
	wakeArmed bool // a read of the waker is in flight
	woken     bool // a read of the waker has completed since the last Poll: this Poll must not wait
	holdArmed bool // a time-out of a hold is in flight
	stopped   int  // while quiescing: number of operations that the last stop ended; -1: no answer yet
	loss      loss // of completions, see uring_loss_linux.go

	free    atomic.Int32   // buffers that the kernel can still receive into
	starved starvation     // receives that wait for a buffer
	whole   handIn[uint16] // released buffers, for the next taker
	cancels handIn[Op]     // for the owner's next Submit or Poll; Closes of watched descriptors, too
	lapsed  handIn[Token]  // Watches whose poll has ended, for the owner's next Poll
	widened handIn[Token]  // Watches that are to report room, too, for the owner's next Poll

	// For datagrams; see uring_packets_linux.go and uring_sendto_linux.go.
	cfg     Config
	packets atomic.Pointer[uringPackets] // nil before the first RecvFrom
	batches batchTable
}

const bufferGroup = uring.MinResetGroup

// openURing waits a while for lockable memory. The kernel gives back that of a closed ring some
// 20 ms after the close, and it counts for all processes of the user.
func openURing(cfg *Config) (r Reactor, err error) {
	const longest = 128 * time.Millisecond
	for wait := time.Millisecond; ; wait *= 2 {
		if r, err = tryURing(cfg); !errors.Is(err, unix.ENOMEM) || wait > longest {
			return r, err
		}
		time.Sleep(wait)
	}
}

func tryURing(cfg *Config) (_ Reactor, err error) {
	has := allFeatures.without(cfg.Without)
	ring, err := setupRing(uint32(cfg.Entries), &has)
	if err != nil {
		return nil, err
	}
	r := &uringReactor{cfg: *cfg, ring: ring, has: has, waker: waker{kernel: newKernel(cfg), closed: true}, faults: newURingFaults(cfg)}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	if err = r.openBuffers(cfg); err != nil {
		return nil, explainURing(err)
	}
	// Not EFD_NONBLOCK: a read on such a descriptor would complete with EAGAIN instead of waiting.
	if err = r.waker.open(0); err != nil {
		return nil, explainURing(err)
	}
	// With more than one P, an idle one is likely at the end of a wait in the kernel. The choice
	// stays when GOMAXPROCS changes: a wait then costs more.
	if runtime.GOMAXPROCS(0) == 1 {
		r.rest, _ = newRest(ring.FD(), r.pollInRest)
	}
	if r.faults != nil {
		r.faults.done = cfg.faults.OnRenew(r.renew)
	}
	return r, nil
}

// openBuffers gives the kernel the receive memory. A kernel without incremental buffers gets that
// memory in smaller pieces.
func (r *uringReactor) openBuffers(cfg *Config) (err error) {
	buffers, size, flags := cfg.Buffers, cfg.BufferSize, uint16(uring.IOU_PBUF_RING_INC)
	if !r.has.incremental {
		flags = 0
		for size > 8<<10 && buffers < 16384 {
			buffers, size = buffers*2, size/2
		}
	}
	if r.mem, err = newPool(buffers, size); err != nil {
		return err
	}
	if r.bufs, err = r.ring.NewBufRing(bufferGroup, uint32(buffers), flags); err != nil {
		return err
	}
	for id := range buffers {
		r.provide(uint16(id))
	}
	r.bufs.Advance()
	return nil
}

// provide puts a whole buffer into the ring, for Advance to publish.
func (r *uringReactor) provide(id uint16) {
	r.mem.open(id)
	rest := r.mem.rest(id)
	r.bufs.Add(unsafe.Pointer(unsafe.SliceData(rest)), uint32(len(rest)), id)
	r.free.Add(1)
}

// reclaim provides the released buffers.
func (r *uringReactor) reclaim() {
	r.reclaimPackets()
	whole := r.whole.take()
	if len(whole) == 0 {
		return
	}
	for _, id := range whole {
		r.provide(id)
	}
	r.bufs.Advance()
}

func (r *uringReactor) Name() string { return "io_uring" }

func (r *uringReactor) Carrier(runner Reactor) Reactor { return runner }

func (r *uringReactor) Close() error {
	if r.closed.Swap(true) {
		return ErrClosed
	}
	if r.faults != nil && r.faults.done != nil {
		r.faults.done()
	}
	r.quiesce(r.discard) // so that the memory below has no other user
	r.closeAll()
	if r.rest != nil {
		r.rest.close()
	}
	err := r.ring.Close()
	if r.bufs != nil {
		_ = r.bufs.Close()
	}
	if r.mem != nil {
		_ = r.mem.close()
	}
	if p := r.packets.Load(); p != nil {
		p.close()
	}
	r.waker.close()
	return err
}

func (r *uringReactor) Wake() error { return r.waker.wake() }

// Release wakes an owner that has receives waiting for a buffer: the owner may be asleep. Release
// adds to the list before it reads active. Poll reads the list after active was set. So one of the
// two sees the other.
func (r *uringReactor) Release(b Buffer) {
	if b.packet {
		r.releasePacket(b)
		return
	}
	if r.closed.Load() || !r.mem.drop(b.id) {
		return
	}
	r.whole.add(b.id)
	if r.starved.active.Load() {
		_ = r.waker.wake() // a write to the reactor's own eventfd does not fail
	}
}

// Rescue only reads the completion queue. The kernel posts completions on the owner's thread, which
// may stay in user mode for long, so Rescue interrupts it. A wake-up that it finds is kept for the
// owner in woken. It submits Cancels that wait for the owner, except those of starved receives,
// which only the owner may touch. Entries that the owner has prepared stay until its next Poll. To
// submit them here, the queue and the counts of sends that a hold waits for would have to be
// shared, at the cost of a locked instruction for each operation.
func (r *uringReactor) Rescue(out []Completion) (int, error) {
	if r.closed.Load() {
		return 0, ErrClosed
	}
	r.cancelNow()
	if r.ring.TaskrunPending() && nudge() {
		for range nudgeSpins { // it takes a few microseconds
			if !r.ring.TaskrunPending() {
				break
			}
		}
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	r.reclaim()
	n := r.stash.take(out)
	m := r.collect(out[n:], false)
	r.loss.rescued(out[n : n+m])
	return n + m, nil
}

const nudgeSpins = 10_000

func (r *uringReactor) Poll(out []Completion, wait time.Duration, hold bool) (int, error) {
	if r.closed.Load() {
		return 0, ErrClosed
	}
	r.settleRescued()
	if r.losing() {
		if err := r.salvage(); err != nil {
			return 0, err
		}
	}
	r.reclaim()
	r.rearm()
	n := r.stash.take(out)
	n += r.reap(out[n:])
	if n > 0 || r.woken || r.starvedCanGoOn() || r.losing() { // the next Poll handles a drop
		wait = 0
	}
	r.woken = false
	if r.cfg.OnOverflow != nil && r.ring.Overflowed() {
		r.cfg.OnOverflow()
	}
	if wait == 0 && r.ring.Prepared() == 0 && !r.ring.TaskrunPending() && !r.ring.Overflowed() {
		return n, nil
	}
	if err := r.enter(wait, hold || wait == 0); err != nil {
		return n, err
	}
	n += r.reap(out[n:])
	r.woken = false
	return n, nil
}

// rearm queues the operations that earlier completions and other goroutines require. It is not done
// while reaping, because a full submission queue may have to reap.
func (r *uringReactor) rearm() {
	r.takeCancels()
	if !r.wakeArmed {
		r.wakeArmed = true
		e := r.entry()
		e.PrepRead(r.waker.fd, r.wakeBuf[:], 0)
		r.ready(e, kindWake, 0)
	}
	if r.starved.active.Load() {
		turn := r.starved.next(int(r.free.Load()))
		for i := range turn {
			r.arm(&turn[i])
		}
	}
	r.watchAgain()
	r.widen()
	r.rearmPackets()
}

// starvedCanGoOn reports whether receives wait only to be armed, and buffers are free.
func (r *uringReactor) starvedCanGoOn() bool {
	if len(r.starved.ops) > 0 && r.free.Load() > 0 {
		return true
	}
	p := r.packets.Load()
	return p != nil && len(p.starved.ops) > 0 && p.free.Load() > 0
}

// enter submits the queue and waits for a completion. It reads the completion side only if it is to
// wait, as only Poll does.
func (r *uringReactor) enter(wait time.Duration, hold bool) error {
	if r.shortage.pause > 0 && !r.shortage.over(wait) {
		return nil
	}
	if len(r.closing) > 0 {
		wait = 0 // they are closed after the submission
	}
	var atLeast uint32
	sure := true
	if wait != 0 {
		atLeast = 1
	}
	if wait != 0 && hold {
		// The wait also counts operations that complete at their submission, so that it does not
		// return just for them. A send with NoWait completes so: the kernel tries it once, and
		// nothing else takes completions during a Poll. A datagram nearly always does. One that
		// blocks costs mostWait, but not again soon.
		atLeast += uint32(r.sends)
		switch {
		case r.datagrams == 0:
		case r.doubt > 0:
			r.doubt--
		default:
			atLeast += uint32(r.datagrams)
			sure = false
		}
	}
	if hold && wait > 0 {
		r.armHold(wait)
		// With a datagram that blocks, neither earlier completions nor the time-out end the wait,
		// so it needs its own bound.
		if sure {
			wait = -1
		} else {
			wait = min(wait, mostWait)
		}
	}
	taken, errno := uint32(0), r.faults.next(faults.Wait)
	if errno == 0 {
		taken, errno = r.submit(atLeast, wait, hold)
	}
	if !sure && r.ring.CQReady() < atLeast && errno != unix.EINTR {
		r.doubt = 64
	}
	if taken > 0 { // perhaps not all: to wait for too few costs a return, to wait for too many a hold
		r.sends, r.datagrams = 0, 0
	}
	if r.ring.Prepared() == 0 {
		clear(r.addrs) // the kernel has copied them
		r.addrs = r.addrs[:0]
		r.closeWatched()
	}
	switch {
	case wantsMemory(errno):
		r.refused(errno)
		return nil
	case errno == 0, errno == unix.EINTR, errno == unix.ETIME:
	case errno == unix.EBUSY, errno == unix.EAGAIN: // no room or no memory: reap, let handlers run, try again
	case errno == unix.EBADR: // completions were dropped, which reap detects itself
	default:
		return os.NewSyscallError("io_uring_enter", errno)
	}
	r.shortage.pause = 0
	return nil
}

// submit is Enter, but a long wait is a rest if there is one.
func (r *uringReactor) submit(atLeast uint32, wait time.Duration, hold bool) (taken uint32, errno unix.Errno) {
	if wait == 0 || hold || r.rest == nil {
		return r.ring.Enter(atLeast, true, wait, hold)
	}
	r.taken, r.errno = 0, 0
	if r.rest.wait(wait) != nil {
		return r.taken, unix.EBADF // closed
	}
	r.rest.shut()
	return r.taken, r.errno
}

// pollInRest submits, and runs the work that posts completions. It opens the gate after the
// submission, whose completions would be events, and then polls again.
func (r *uringReactor) pollInRest() bool {
	for {
		taken, errno := r.ring.Enter(0, true, -1, true)
		r.taken += taken
		if r.errno = errno; errno != 0 || r.ring.CQReady() > 0 {
			return true
		}
		if r.rest.isOpen {
			return false
		}
		r.rest.open()
	}
}

// mostWait is how long a hold waits for a datagram that may have to wait for room. A longer hold
// is repeated.
const mostWait = time.Millisecond

// armHold bounds a hold by its own time-out, which stays in flight over many holds until it fires.
// A time-out of the wait itself would make the kernel program the timer hardware twice for each
// hold, which costs more than the wait.
func (r *uringReactor) armHold(wait time.Duration) {
	if r.holdArmed {
		return
	}
	r.holdArmed = true
	r.holdFor = uring.Timespec{Sec: int64(wait / time.Second), Nsec: int64(wait % time.Second)}
	e := r.entry()
	e.PrepTimeout(&r.holdFor, 0, 0)
	r.ready(e, kindHold, 0)
}
