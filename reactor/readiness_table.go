//go:build unix || windows

package reactor

// An fdState is what a readiness backend knows of one descriptor: the operations
// in flight on it and what its last edges promised.
type fdState struct {
	seq     uint32 // counts the files this number has been a descriptor of; goes with places in line
	left    int32  // bytes that the last edge counted and that were not received since; 0: it did not count, or all were
	line    line   // where it waits for its turn
	watched bool   // registered with the kernel
	in      bool   // an edge promised input, and no read has come up short since
	out     bool   // the same for output
	ahead   bool   // FIN, a reset, an error or urgent data: a short read has not emptied the socket
	traits  traits

	inKind, outKind Kind // Accept, Recv, RecvFrom or Readable; Connect, Send, SendTo or Writable; 0: none in flight
	inTok, outTok   Token
	unsent          *outgoing // of the Send or SendTo in flight; else nil
}

// Traits are noted when a descriptor is registered. One byte for all: with another, every state would be larger by eight.
type traits uint8

const (
	ofUnix    traits = 1 << iota // a short read need not have emptied it either: it stops behind what descriptors came with
	forRoom                      // it is watched for output as well
	forHangup                    // a Hangup is in flight
	forOne                       // the Accept in flight ends with one connection
)

// A line is where a descriptor waits for its turn.
type line uint8

const (
	inReady   line = 1 << iota // ready or next
	inStarved                  // starved: it receives when a buffer is released
)

// An outgoing is what a Send or SendTo waits with for room. Few descriptors have one, so it does not lie in
// their state, which every idle connection has.
type outgoing struct {
	buf   []byte
	batch *Batch
}

// A readyFD is a place in line. It is void if the descriptor has been closed
// since: then the sequence number differs.
type readyFD struct {
	fd  int
	seq uint32
}

// An fdTable finds the state of a descriptor. Chunks come as needed, so that
// one high number costs no array up to it.
type fdTable struct{ chunks [][]fdState }

const fdChunk = 256 // makes a size that Go's allocator has

func (t *fdTable) get(fd int) *fdState {
	if c := uint(fd) / fdChunk; c < uint(len(t.chunks)) && t.chunks[c] != nil {
		return &t.chunks[c][fd%fdChunk]
	}
	return nil
}

func (t *fdTable) make(fd int) *fdState {
	c := fd / fdChunk
	for c >= len(t.chunks) {
		t.chunks = append(t.chunks, nil)
	}
	if t.chunks[c] == nil {
		t.chunks[c] = make([]fdState, fdChunk)
	}
	return &t.chunks[c][fd%fdChunk]
}

// A completionQueue holds outcomes until Poll hands them out, in order.
type completionQueue struct {
	list []Completion
	head int
}

func (q *completionQueue) push(c Completion) { q.list = append(q.list, c) }

func (q *completionQueue) empty() bool { return q.head == len(q.list) }

func (q *completionQueue) take(out []Completion) int {
	n := copy(out, q.list[q.head:])
	q.head += n
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	return n
}
