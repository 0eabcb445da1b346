package reactor

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// uringPackets is the receive memory of datagrams.
//
// Its group of buffers is separate from that of byte streams. It is never an incremental one
// (IOU_PBUF_RING_INC), because that does not keep the boundaries of datagrams: a receive gets the
// rest of the current buffer, however small it is. A multishot recvmsg into less room than its
// header needs ends with EFAULT (io_recvmsg_prep_multishot). A datagram that is longer than the
// rest is cut off, as no minimum can be requested (TestAnIncrementalGroupCutsDatagramsOff shows
// both). In a plain group each datagram has a buffer of DatagramSize. Such buffers are large, but
// their pages are touched only as far as they are used, so this costs addresses, not memory.
//
// Without multishot receives (before Linux 6.0) the ring only polls the socket, and the taker of
// the completion receives one datagram: such a kernel's recvmsg does not put the sender into the
// buffer.
type uringPackets struct {
	mem     *pool
	free    atomic.Int32   // free buffers, according to the completions taken so far
	starved starvation     // receives that wait for a buffer
	whole   handIn[uint16] // released buffers, for the next taker

	bufs *uring.BufRing
	msg  unix.Msghdr // gives the room for name and control

	byHand *packets // for receives without the ring, used by the taker; nil: bufs is used instead
	mu     sync.Mutex
	polled map[Token]int // descriptors; guarded by mu
}

const packetGroup = bufferGroup + 1

// openPackets makes the memory, at the first RecvFrom. Owner only. Other goroutines see either all
// of it or nothing.
func (r *uringReactor) openPackets() (*uringPackets, error) {
	if p := r.packets.Load(); p != nil {
		return p, nil
	}
	p := &uringPackets{msg: unix.Msghdr{Namelen: nameRoom}}
	p.msg.SetControllen(controlRoom)
	n := r.cfg.Datagrams
	if !r.has.multishotRecv {
		var err error
		if p.byHand, err = newPackets(&r.cfg, r.waker.kernel); err != nil {
			return nil, err
		}
		p.mem, p.polled = p.byHand.mem, map[Token]int{}
		p.free.Store(int32(n))
		r.packets.Store(p)
		return p, nil
	}
	var err error
	if p.mem, err = newPool(n, packetStride(r.cfg.DatagramSize)); err != nil {
		return nil, err
	}
	if p.bufs, err = r.ring.NewBufRing(packetGroup, uint32(n), 0); err != nil {
		_ = p.mem.close()
		return nil, err
	}
	for id := range n {
		p.provide(uint16(id), r.cfg.DatagramSize)
	}
	p.bufs.Advance()
	r.packets.Store(p)
	return p, nil
}

func (p *uringPackets) provide(id uint16, size int) {
	p.mem.open(id)
	p.bufs.Add(unsafe.Pointer(unsafe.SliceData(p.mem.rest(id))), uint32(packetPayload+size), id)
	p.free.Add(1)
}

// reclaimPackets makes the released buffers usable.
func (r *uringReactor) reclaimPackets() {
	p := r.packets.Load()
	if p == nil {
		return
	}
	whole := p.whole.take()
	if len(whole) == 0 {
		return
	}
	if p.byHand != nil {
		p.byHand.whole = append(p.byHand.whole, whole...)
		p.free.Add(int32(len(whole)))
		return
	}
	for _, id := range whole {
		p.provide(id, r.cfg.DatagramSize)
	}
	p.bufs.Advance()
}

func (p *uringPackets) close() {
	if p.bufs != nil {
		_ = p.bufs.Close()
	}
	_ = p.mem.close()
}

// releasePacket is Release. Its comment explains why no wake-up is lost.
func (r *uringReactor) releasePacket(b Buffer) { r.ReleasePackets([]Buffer{b}) }

var _ PacketReleaser = (*uringReactor)(nil)

// ReleasePackets implements PacketReleaser.
func (r *uringReactor) ReleasePackets(bs []Buffer) {
	p := r.packets.Load()
	if r.closed.Load() {
		return
	}
	p.whole.addAll(len(bs), func(i int) (id uint16, ok bool) { return bs[i].id, p.mem.drop(bs[i].id) })
	if p.starved.active.Load() {
		_ = r.waker.wake() // a write to the reactor's own eventfd does not fail
	}
}

// recvFrom arms a receive, or keeps it until there is a buffer. Owner only.
func (r *uringReactor) recvFrom(op *Op) error {
	p, err := r.openPackets()
	if err != nil {
		return err
	}
	if p.free.Load() == 0 || p.starved.active.Load() {
		p.starved.add(op)
		return nil
	}
	r.armPackets(p, op)
	return nil
}

func (r *uringReactor) armPackets(p *uringPackets, op *Op) {
	e := r.entry()
	if p.byHand != nil {
		p.mu.Lock()
		p.polled[op.Token] = op.FD
		p.mu.Unlock()
		e.PrepPollAdd(op.FD, unix.POLLIN, false)
	} else {
		e.PrepRecvMsgGroup(op.FD, &p.msg, 0, packetGroup, true)
	}
	r.ready(e, RecvFrom, op.Token)
}

// rearmPackets arms the receives that waited for a buffer. Owner only.
func (r *uringReactor) rearmPackets() {
	p := r.packets.Load()
	if p == nil || !p.starved.active.Load() {
		return
	}
	turn := p.starved.next(int(p.free.Load()))
	for i := range turn {
		r.armPackets(p, &turn[i])
	}
}

// received turns an entry of the ring into a completion. Taker only.
func (r *uringReactor) received(e *uring.CQE, c *Completion) {
	p := r.packets.Load()
	_, token := splitUserData(e.UserData)
	*c = Completion{Token: token, Kind: RecvFrom, More: e.More(), Res: int(e.Res)}
	if e.Res == -int32(unix.ENOBUFS) {
		p.starved.ranOut()
	}
	if p.byHand != nil {
		p.receive(c)
		return
	}
	if !e.HasBuffer() {
		return
	}
	id := e.BufferID()
	c.Buf = p.mem.took(id, max(0, c.Res))
	c.Buf.packet = true
	p.free.Add(-1)
	p.mem.filled(id) // not whole: Buf is in use
	if c.Res < packetPayload {
		r.releasePacket(c.Buf) // taken and not used
		c.Buf = Buffer{}
		return
	}
	c.Res -= packetPayload
}

// receive receives one datagram from a socket that the ring has polled.
func (p *uringPackets) receive(c *Completion) {
	p.mu.Lock()
	fd := p.polled[c.Token]
	delete(p.polled, c.Token)
	p.mu.Unlock()
	c.More = false
	if c.Res < 0 {
		return
	}
	n, _, errno := p.byHand.recv(fd, 1)
	if errno != 0 || n == 0 {
		c.Res = -int(errno)
		return
	}
	p.free.Add(-1)
	c.Buf = p.byHand.got[0]
	c.Res = len(c.Buf.Bytes) - packetPayload
}
