package reactor

// flying records the operations in flight, except the datagrams of batches, for the case that
// completions are dropped. Each operation flips its bit twice: when it is queued and when it has
// completed. A token has one operation of a kind at a time. So the two flips may come in either
// order: Rescue leaves its completions for the owner to note later. Owner only.
type flying struct{ chunks []*flyingChunk }

type flyingChunk [256]struct { // 2 KiB: spare workers have reactors that carry little
	generation uint32 // of the last operation's token
	kinds      uint32 // a bit for each Kind
}

const tracked = 1<<Accept | 1<<Connect | 1<<Recv | 1<<Send |
	1<<RecvFrom | 1<<Readable | 1<<Writable | 1<<Hangup | 1<<Watch

// begun notes an operation that is queued.
func (f *flying) begun(kind Kind, token Token) {
	if tracked>>kind&1 == 0 {
		return // its token may name no slot
	}
	i := token.Index()
	chunk := i / uint32(len(flyingChunk{}))
	if chunk >= uint32(len(f.chunks)) || f.chunks[chunk] == nil {
		f.grow(int(chunk))
	}
	slot := &f.chunks[chunk][i%uint32(len(flyingChunk{}))]
	slot.generation = token.Generation()
	slot.kinds ^= 1 << kind
}

// ended notes a completion of the kernel.
func (f *flying) ended(c *Completion) {
	if !c.More {
		f.over(c.Kind, c.Token)
	}
}

func (f *flying) over(kind Kind, token Token) {
	if tracked>>kind&1 == 0 {
		return
	}
	i := token.Index()
	f.chunks[i/uint32(len(flyingChunk{}))][i%uint32(len(flyingChunk{}))].kinds ^= 1 << kind
}

// latest reports whether no later token with the same index has had an operation here.
func (f *flying) latest(token Token) bool {
	i := token.Index()
	chunk := i / uint32(len(flyingChunk{}))
	return chunk < uint32(len(f.chunks)) && f.chunks[chunk] != nil &&
		f.chunks[chunk][i%uint32(len(flyingChunk{}))].generation == token.Generation()
}

// has reports whether an operation is in flight, once all ends that Rescue has seen are noted.
func (f *flying) has(kind Kind, token Token) bool {
	i := token.Index()
	return f.latest(token) && f.chunks[i/uint32(len(flyingChunk{}))][i%uint32(len(flyingChunk{}))].kinds>>kind&1 != 0
}

func (f *flying) grow(chunk int) {
	for len(f.chunks) <= chunk {
		f.chunks = append(f.chunks, nil)
	}
	f.chunks[chunk] = new(flyingChunk)
}

// land ends every operation.
func (f *flying) land(landed func(kind Kind, token Token)) {
	for n, chunk := range f.chunks {
		if chunk == nil {
			continue
		}
		for i := range chunk {
			slot := &chunk[i]
			for kind := Accept; slot.kinds != 0; kind++ {
				if slot.kinds>>kind&1 != 0 {
					slot.kinds ^= 1 << kind
					landed(kind, MakeToken(uint32(n*len(chunk)+i), slot.generation))
				}
			}
		}
	}
}
