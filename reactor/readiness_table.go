//go:build unix || windows

package reactor

// An fdState is the state of one descriptor in a readiness backend: the operations in flight on it
// and the promises of its last edges.
type fdState struct {
	seq     uint32 // counts the files that have had this descriptor number; stored in queue entries
	left    int32  // bytes that the last edge counted and that were not received since; 0: not counted, or all received; of a Watch: the Edge to report
	line    line   // the queues that it is in
	watched bool   // registered with the kernel
	in      bool   // an edge promised input, and no read has been short since; of a Watch: there is an Edge to report
	out     bool   // an edge promised room, and no send has been short since
	ahead   bool   // FIN, a reset, an error or urgent data: a short read has not emptied the socket
	traits  traits

	inKind, outKind Kind // Accept, Recv, RecvFrom, Readable or Watch; Connect, Send, SendTo or Writable; 0: none in flight
	inTok, outTok   Token
	unsent          *outgoing // of the Send or SendTo in flight; else nil
}

// Traits are noted when a descriptor is registered. They share one byte: a second byte would make
// every state larger by eight.
type traits uint8

const (
	ofUnix    traits = 1 << iota // a short read need not have emptied a Unix socket: it stops behind the bytes that carried descriptors
	forRoom                      // output is watched as well
	forHangup                    // a Hangup is in flight
	forOne                       // the Accept in flight ends with one connection
)

// A line is a set of queues in which a descriptor waits.
type line uint8

const (
	inReady   line = 1 << iota // ready or next
	inStarved                  // starved: it receives when a buffer is released
)

// An outgoing is the rest of a Send or SendTo that waits for room. Few descriptors have one, so it
// is not part of their state, which every idle connection has.
type outgoing struct {
	buf   []byte
	batch *Batch
}

// A readyFD is a queue entry. It is invalid if the descriptor has been closed since: then the
// sequence number differs.
type readyFD struct {
	fd  int
	seq uint32
}

// An fdTable maps a descriptor to its state. Chunks are allocated as needed, so that one high
// number does not cost an array up to it.
type fdTable struct{ chunks [][]fdState }

const fdChunk = 256 // makes a chunk a size class of Go's allocator

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

// A completionQueue holds results, in order, until Poll hands them out.
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
