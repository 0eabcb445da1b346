package conn_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
)

// Both ends of a connection in chaos send frames. A frame has a head of 12 bytes: the sender, its
// source, a number that counts up for each source, and the length. Bytes of noise follow, which are
// a function of the head. So each end can tell a byte that was lost, doubled or changed.
const (
	frameHead  = 12
	frameMagic = 0xc5
	frameMax   = 1 << 14
)

// The sources of frames. Each counts its own.
const (
	byTask   = iota // the handler's methods, a stream's function, a client
	bySend          // Handle.Send
	bySocket        // the goroutine that the connection is lent to
	sources
)

// A chaosEnd is one end of a connection: what it has sent, and what it has received.
type chaosEnd struct {
	world *chaosWorld
	id    uint32
	peer  string // the key in chaosWorld.ends under which the other end is

	// Atomics, which the other end reads.
	sent  [sources]atomic.Uint32 // frames that were taken
	torn  atomic.Bool            // a write has failed, perhaps within a frame
	mixed atomic.Bool            // spliced: it sends what others have sent
	gaps  atomic.Bool            // Handle.Send's frames may be dropped: the connection was lent with TLS
	turn  [sources]sync.Mutex

	mu  sync.Mutex
	did []string // the actions at this end, for the report of a fault

	// For the one reader that the connection has at that time: the race detector checks that.
	rest       []byte
	next       [sources]uint32
	readClosed bool // it has said that it reads no more
	bad        bool // the received bytes are wrong: reported once
}

// A chaosWorld is all ends of a test.
type chaosWorld struct {
	audit    *audit
	ids      atomic.Uint32
	ends     sync.Map // address of the connecting side, and which side of it: *chaosEnd
	draining atomic.Bool
	frames   atomic.Int64 // received and compared
	whole    atomic.Int64 // directions that were received to the end, and had all
}

// trace notes an action at this end.
func (e *chaosEnd) trace(what any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.did = append(e.did, fmt.Sprint(what))
}

// String names the end and the actions there.
func (e *chaosEnd) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint("end ", e.id, ", whose peer ", e.peer, ", did ", e.did)
}

// register is the end with the address of the connecting side as its key.
func (w *chaosWorld) register(addr string, accepted bool) *chaosEnd {
	key, peer := addr+" connects", addr+" accepts"
	if accepted {
		key, peer = peer, key
	}
	e := &chaosEnd{world: w, id: w.ids.Add(1), peer: peer}
	if _, again := w.ends.LoadOrStore(key, e); again {
		w.ends.Store(key, (*chaosEnd)(nil)) // a port of before: nobody can tell which is meant
	}
	return e
}

// accepted is the end that was accepted from that address, or nil.
func (w *chaosWorld) accepted(addr string) *chaosEnd {
	v, _ := w.ends.Load(addr + " accepts")
	e, _ := v.(*chaosEnd)
	return e
}

// other is the other end, or nil if it is not known.
func (e *chaosEnd) other() *chaosEnd {
	v, _ := e.world.ends.Load(e.peer)
	other, _ := v.(*chaosEnd)
	return other
}

// pieceOf is the payload of a frame.
func pieceOf(id, seq uint32, source, n int) []byte {
	at := int(id*7919+seq*104729+uint32(source)*15485863) % (len(noise) - frameMax)
	if at < 0 {
		at = -at
	}
	return noise[at : at+n]
}

// send passes the next frame of a source to write.
func (e *chaosEnd) send(source, n int, write func(p []byte) error) error {
	e.turn[source].Lock()
	defer e.turn[source].Unlock()
	seq := e.sent[source].Load()
	p := make([]byte, frameHead, frameHead+n)
	binary.BigEndian.PutUint32(p, e.id)
	binary.BigEndian.PutUint32(p[4:], seq)
	binary.BigEndian.PutUint16(p[8:], uint16(n))
	p[10], p[11] = byte(source), frameMagic
	p = append(p, pieceOf(e.id, seq, source, n)...)
	e.trace(fmt.Sprintf("frame %d of source %d", seq, source))
	err := write(p)
	if err == nil {
		e.sent[source].Add(1) // before the end that this sender may send next
	}
	return err
}

// feed compares received bytes.
func (e *chaosEnd) feed(p []byte) {
	if e.bad {
		return
	}
	e.rest = append(e.rest, p...)
	for len(e.rest) >= frameHead {
		h := e.rest
		id, seq := binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:])
		n, source := int(binary.BigEndian.Uint16(h[8:])), int(h[10])
		other := e.other()
		switch {
		case h[11] != frameMagic || source >= sources || n > frameMax:
			e.fault("no frame begins with %x", h[:frameHead])
			return
		case other != nil && id != other.id:
			e.fault("a frame of %d came, not of %d", id, other.id)
			return
		case seq != e.next[source] && (seq < e.next[source] || source != bySend || other == nil || !other.gaps.Load()):
			e.fault("frame %d of source %d came when %d was due", seq, source, e.next[source])
			return
		}
		if len(h) < frameHead+n {
			return
		}
		if !bytes.Equal(h[frameHead:frameHead+n], pieceOf(id, seq, source, n)) {
			e.fault("frame %d of source %d was changed", seq, source)
			return
		}
		e.next[source] = seq + 1
		e.rest = e.rest[frameHead+n:]
		e.world.frames.Add(1)
	}
}

// ended compares after the other end's orderly end: all that it has written has come.
func (e *chaosEnd) ended() {
	other := e.other()
	if e.bad || e.readClosed || other == nil || other.torn.Load() {
		return
	}
	for _, source := range []int{byTask, bySocket} { // Send's may be too late, without an error
		// One more than was counted may have come: write has not returned yet.
		if got, want := e.next[source], other.sent[source].Load(); got != want && got != want+1 {
			e.fault("the end came after %d of %d frames of source %d and %d bytes", got, want, source, len(e.rest))
			return
		}
	}
	if len(e.rest) > 0 {
		e.fault("the end came within a frame")
		return
	}
	e.world.whole.Add(1)
}

// fault reports a fault, unless a splice explains it.
func (e *chaosEnd) fault(format string, args ...any) {
	e.bad = true
	other := e.other()
	if other == nil || other.mixed.Load() || e.mixed.Load() {
		return
	}
	e.world.audit.violation("%s\nat %v\nfrom %v", fmt.Sprintf(format, args...), e, other)
}
