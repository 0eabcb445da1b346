//go:build unix || windows

package reactor

import "syscall"

// minReceive is the least room for which a read is worth it. With less room the next buffer is
// taken.
const minReceive = 2048

// urgentTries bounds the repeats of a read at the urgent mark. A repeat fails only if another
// signal is pending by then.
const urgentTries = 2

func (r *readiness) recv(fd int, f *fdState, out []Completion, n int) int {
	room := r.room()
	if room == nil {
		f.line |= inStarved
		r.starved = append(r.starved, readyFD{fd: fd, seq: f.seq})
		return n
	}
	got, errno := r.kernel.recv(fd, room)
	// Linux's read also fails in this way at the urgent mark, if a signal is pending: there are
	// bytes behind the mark, and no edge will come for them.
	for more := urgentTries; errno == syscall.EAGAIN && f.ahead && more > 0; more-- {
		got, errno = r.kernel.recv(fd, room)
	}
	c := Completion{Token: f.inTok, Kind: Recv}
	switch {
	case errno == syscall.EAGAIN:
		f.in, f.left = false, 0
		return n
	case errno != 0:
		c.Res, f.inKind = -int(errno), 0
	case got == 0:
		f.inKind = 0
	default:
		c.Res, c.More, c.Buf = got, true, r.mem.took(uint16(r.filling), got)
		r.got += got
		// A short read has emptied the socket: later input makes a new edge. A FIN that had arrived
		// before already made its edge and must be read.
		f.left = max(0, f.left-int32(got))
		f.in = got == len(room) || f.ahead || f.traits&ofUnix != 0 || f.left > 0
	}
	out[n] = c
	return n + 1
}

// room returns the memory for the next receive, nil when every buffer is in use.
func (r *readiness) room() []byte {
	if r.filling >= 0 {
		rest := r.mem.rest(uint16(r.filling))
		if len(rest) >= min(minReceive, r.mem.size) {
			return rest
		}
		id := uint16(r.filling)
		r.filling = -1
		if r.mem.filled(id) {
			r.whole = append(r.whole, id)
		}
	}
	last := len(r.whole) - 1
	if last < 0 {
		return nil
	}
	id := r.whole[last]
	r.whole = r.whole[:last]
	r.mem.open(id)
	r.filling = int32(id)
	return r.mem.rest(id)
}
