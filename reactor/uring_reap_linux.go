package reactor

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
