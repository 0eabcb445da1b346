package natscluster

import (
	"encoding/binary"

	"github.com/suiro-go/suiro/process"
)

// A frame is one NATS message. All of a pair of nodes begin with the epoch that the pair is in.
//
//	version 1, kind 1, node 8, epoch 8, seq 8, position 8, cost 4, entries
//
// Plain and numbered frames have entries. seq is a numbered frame's own number, and the last number
// before a plain frame or a probe. position is the cost of all entries before the frame, cost that
// of its own. In a receipt, seq is the last numbered frame that was received, and position the cost
// of the entries that have left the window; cost is 1 if a frame is missing.
const frameHeader = 1 + 1 + 8 + 8 + 8 + 8 + 4

// protocolVersion is that of frames. Nodes drop frames of other versions.
const protocolVersion = 1

// maxEpoch is the last epoch that a frame may have. Two nodes never lose each other so often.
const maxEpoch = 1 << 48

const (
	framePlain = 1 + iota
	frameNumbered
	frameProbe     // asks for a receipt
	frameReceipt   // confirms
	frameHeartbeat // to all nodes; see heartbeat
	frameLeave     // to all nodes, with the sender's number alone
)

type header struct {
	kind     byte
	node     uint64 // of the sender
	epoch    uint64
	seq      uint64
	position uint64
	cost     uint32
}

// put writes the header into the first bytes of a frame.
func (h *header) put(b []byte) {
	b[0], b[1] = protocolVersion, h.kind
	binary.BigEndian.PutUint64(b[2:], h.node)
	binary.BigEndian.PutUint64(b[10:], h.epoch)
	binary.BigEndian.PutUint64(b[18:], h.seq)
	binary.BigEndian.PutUint64(b[26:], h.position)
	binary.BigEndian.PutUint32(b[34:], h.cost)
}

func parseHeader(b []byte) (h header, entries []byte, ok bool) {
	if len(b) < frameHeader {
		return h, nil, false
	}
	h = header{
		kind: b[1], node: binary.BigEndian.Uint64(b[2:]), epoch: binary.BigEndian.Uint64(b[10:]),
		seq: binary.BigEndian.Uint64(b[18:]), position: binary.BigEndian.Uint64(b[26:]), cost: binary.BigEndian.Uint32(b[34:]),
	}
	ok = b[0] == protocolVersion && h.kind >= framePlain && h.kind <= frameLeave && h.node != 0 && h.epoch <= maxEpoch
	return h, b[frameHeader:], ok
}

// An entry is one message of a frame:
//
//	kind 1, id 8, target 16, type 4, length 4, body
//
// id is that of a call or a monitor. target is the PID of a process of the receiver.
const entryHeader = 1 + 8 + 16 + 4 + 4

const (
	entrySend      = 1 + iota
	entryPublish   // the body begins with the length (1) and the name of a group
	entryRequest   // id: of the call
	entryAnswer    // the body is an error, then the answer if the error is nil
	entryMonitor   // id: of the monitor
	entryDemonitor // that monitor
	entryDown      // that monitor; the body is the reason
	entryJoined    // the body is a group that has members here now
	entryEmpty     // the body is a group that has none
	entryForget    // id: of a call whose caller no longer waits
)

type entry struct {
	kind   byte
	id     uint64
	target process.PID
	hash   uint32
	body   []byte
}

// costsRoom reports whether an entry counts for the window. The number of the others has a limit
// of its own: that of calls and monitors. They must pass a full window, or a process could wait
// for an answer that waits for the process.
func (e *entry) costsRoom() bool {
	return e.kind == entrySend || e.kind == entryPublish || e.kind == entryRequest
}

// cost is the room of an entry in the window, in bytes.
func (e *entry) cost() uint32 {
	if !e.costsRoom() {
		return 0
	}
	return uint32(entryHeader + len(e.body))
}

func (e *entry) append(b []byte) []byte {
	b = append(b, e.kind)
	b = binary.BigEndian.AppendUint64(b, e.id)
	b, _ = e.target.AppendBinary(b)
	b = binary.BigEndian.AppendUint32(b, e.hash)
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.body)))
	return append(b, e.body...)
}

// nextEntry takes the first entry off b.
func nextEntry(b []byte) (e entry, rest []byte, ok bool) {
	if len(b) < entryHeader {
		return e, nil, false
	}
	e.kind, e.id = b[0], binary.BigEndian.Uint64(b[1:])
	_ = e.target.UnmarshalBinary(b[9:25]) // 16 bytes
	e.hash = binary.BigEndian.Uint32(b[25:])
	n := binary.BigEndian.Uint32(b[29:])
	b = b[entryHeader:]
	if uint64(n) > uint64(len(b)) {
		return e, nil, false
	}
	e.body = b[:n:n]
	return e, b[n:], true
}

// splitGroup takes the name off the body of an entryPublish.
func splitGroup(body []byte) (group string, message []byte, ok bool) {
	if len(body) == 0 || len(body) < 1+int(body[0]) {
		return "", nil, false
	}
	n := 1 + int(body[0])
	return string(body[1:n]), body[n:], true
}
