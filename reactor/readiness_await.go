//go:build unix || windows

package reactor

// awaitReady is Readable and Writable. What the last edge promised says nothing
// here, since others make the calls and the reactor does not hear what became of
// them. So the kernel is asked, and an edge that comes after that is not missed.
// One that was taken before may still be dealt with after: then it comes in vain.
//
// The promise outlives the operation: a Recv that follows looks for itself.
func (r *readiness) awaitReady(f *fdState, op *Op) error {
	busyWith := f.inKind
	if op.Kind == Writable {
		busyWith = f.outKind
	}
	if busyWith != 0 {
		return busy(busyWith, op.FD)
	}
	ready := readyNow(op.FD, op.Kind == Writable)
	switch {
	case op.Kind == Readable && ready:
		f.in = true
		r.done.push(Completion{Token: op.Token, Kind: Readable})
	case op.Kind == Readable:
		f.in, f.inKind, f.inTok = false, Readable, op.Token
	case ready:
		f.out = true
		r.done.push(Completion{Token: op.Token, Kind: Writable})
	default:
		f.out, f.outKind, f.outTok = false, Writable, op.Token
	}
	return nil
}
