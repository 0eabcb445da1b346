package reactor

import (
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// reap copies completions out of the ring: collect first, so that the ring has
// room again before any handler runs. Owner only.
func (r *uringReactor) reap(out []Completion) int {
	n := r.collect(out, false)
	for i := range out[:n] {
		r.flying.ended(&out[i])
	}
	return n
}

// collect is reap for any taker. Without all it takes nothing behind a dropped completion.
func (r *uringReactor) collect(out []Completion, all bool) int {
	if len(out) == 0 {
		return 0
	}
	n := 0
	ready := r.ring.CQReady()
	if !all && r.losing() { // after CQReady: see uring_loss_linux.go
		return 0
	}
	seen := uint32(0)
	for ; seen < ready && n < len(out); seen++ {
		if r.faults != nil && r.faults.drops(r.ring.CQE(seen)) {
			if all {
				continue
			}
			seen++
			break
		}
		if r.complete(r.ring.CQE(seen), &out[n]) {
			n++
		}
	}
	if seen > 0 {
		r.ring.AdvanceCQ(seen)
	}
	return n
}

// hungUpBy turns an entry of a poll for a Hangup into a completion. It returns false if the peer
// has only closed its direction.
func hungUpBy(e *uring.CQE, c *Completion) bool {
	_, token := splitUserData(e.UserData)
	*c = Completion{Token: token, Kind: Hangup, More: e.More(), Res: min(0, int(e.Res))}
	if e.Res < 0 || e.Res&unix.POLLERR != 0 {
		return true
	}
	c.Res = -int(unix.EAGAIN)
	return !c.More
}

// complete turns one entry of the ring into a completion. It returns false for the reactor's
// internal operations.
func (r *uringReactor) complete(e *uring.CQE, c *Completion) bool {
	if r.faults != nil {
		r.faults.rewrite(e)
	}
	kind, token := splitUserData(e.UserData)
	switch kind {
	case kindWake:
		r.wakeArmed, r.woken = false, true
		r.waker.noticed()
		return false
	case kindHold:
		r.holdArmed = false
		return false
	case kindStop:
		r.stopped = max(0, int(e.Res))
		return false
	case Cancel:
		return false
	case Rewatch:
		if e.Res == -int32(unix.EALREADY) {
			r.widened.add(token)
		}
		return false
	case SendTo:
		return r.sentOne(e, c)
	case RecvFrom:
		r.received(e, c)
		return true
	case Hangup:
		return hungUpBy(e, c)
	case Watch:
		r.edge(e, c)
		return true
	}
	*c = Completion{Token: token, Kind: kind, More: e.More(), Res: int(e.Res)}
	if kind == Recv && e.Res == -int32(unix.ENOBUFS) {
		r.starved.ranOut()
	}
	if kind == Readable || kind == Writable {
		c.Res = min(0, c.Res) // a positive value is the mask of ready events
	}
	if e.HasBuffer() {
		id := e.BufferID()
		c.Buf = r.mem.took(id, max(0, int(e.Res)))
		if !e.BufMore() {
			r.free.Add(-1)
			r.mem.filled(id) // not whole: Buf is in use
		}
		if e.Res <= 0 { // taken and not used
			r.Release(c.Buf)
			c.Buf = Buffer{}
		}
	}
	return true
}
