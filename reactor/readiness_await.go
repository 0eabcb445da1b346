//go:build unix || windows

package reactor

// awaitReady is Readable and Writable. The promise of the last edge is of no use here: other code
// makes the system calls, and the reactor does not learn their results. So it queries the kernel,
// and does not miss an edge that comes after that. An edge from before may be processed after it:
// then the completion is spurious.
//
// The promise outlives the operation: a Recv that follows tries itself.
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
