//go:build unix || windows

package reactor

// awaitHangup is Hangup. It queries the kernel for a hang-up that occurred before, and does not
// miss an edge that comes after that. Few descriptors have one in flight, so the tokens are in a
// map. A trait saves the others a look into it.
func (r *readiness) awaitHangup(f *fdState, op *Op) error {
	if f.traits&forHangup != 0 {
		return busy(Hangup, op.FD)
	}
	if hungUp(op.FD) {
		r.done.push(Completion{Token: op.Token, Kind: Hangup})
		return nil
	}
	if r.hangups == nil {
		r.hangups = map[int]Token{}
	}
	r.hangups[op.FD] = op.Token
	f.traits |= forHangup
	return nil
}

// endHangup completes the Hangup of a descriptor that has one.
func (r *readiness) endHangup(fd int, f *fdState, res int) {
	r.done.push(Completion{Token: r.hangups[fd], Kind: Hangup, Res: res})
	r.dropHangup(fd, f)
}

func (r *readiness) dropHangup(fd int, f *fdState) {
	delete(r.hangups, fd)
	f.traits &^= forHangup
}
