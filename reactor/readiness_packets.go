//go:build unix || windows

package reactor

import "syscall"

// openPackets maps the receive memory of datagrams, once.
func (r *readiness) openPackets() (err error) {
	if r.packets == nil {
		r.packets, err = newPackets(&r.cfg, r.kernel)
	}
	return err
}

func (r *readiness) releasePacket(b Buffer) { r.ReleasePackets([]Buffer{b}) }

var _ PacketReleaser = (*readiness)(nil)

// ReleasePackets implements PacketReleaser.
func (r *readiness) ReleasePackets(bs []Buffer) {
	if r.closed.Load() {
		return
	}
	r.mu.Lock()
	defer r.unlock()
	if r.closed.Load() {
		return
	}
	for i := range bs {
		if r.packets.mem.drop(bs[i].id) {
			r.packets.whole = append(r.packets.whole, bs[i].id)
		}
	}
	r.feedStarved()
}

// recvFrom receives a batch.
func (r *readiness) recvFrom(fd int, f *fdState, out []Completion, n int) int {
	if n == len(out) {
		return n
	}
	p := r.packets
	if p.arm(1) == 0 { // every buffer is in use
		f.line |= inStarved
		r.starved = append(r.starved, readyFD{fd: fd, seq: f.seq})
		return n
	}
	got, full, errno := p.recv(fd, len(out)-n)
	for i := range got {
		b := p.got[i]
		out[n+i] = Completion{Token: f.inTok, Kind: RecvFrom, More: true, Res: len(b.Bytes) - packetPayload, Buf: b}
	}
	switch errno {
	case 0:
		// Fewer than requested: the socket is empty, and later input makes a new edge. The
		// exception is an error, which also ends the call: its edge came before.
		f.in = full || f.ahead
		return n + got
	case syscall.EAGAIN:
		f.in, f.ahead = false, false // errors of an unconnected socket are transient
		return n
	}
	r.done.push(Completion{Token: f.inTok, Kind: RecvFrom, Res: -int(errno)}) // through the queue, because out may be full
	f.inKind = 0                                                              // f.in stays: there may be datagrams behind the error
	return n + got
}

// sendToOn sends as many datagrams as there is room for.
func (r *readiness) sendToOn(fd int, f *fdState) {
	if b := f.unsent.batch; b.transmit(r.kernel, fd) {
		r.finishOut(f, b.Len())
	} else {
		f.out = false
	}
}

func (r *readiness) cancelSendTo(f *fdState) {
	b := f.unsent.batch
	b.skipAll(syscall.ECANCELED, b.Len())
	r.finishOut(f, b.Len())
}
