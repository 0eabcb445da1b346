package uring

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// recvMsgHeader is the size of struct io_uring_recvmsg_out, which precedes each message.
const recvMsgHeader = 16

// RecvMsg is one message as a multishot PrepRecvMsgGroup lays it out in its buffer. The slices are
// parts of that buffer.
type RecvMsg struct {
	Name    []byte // socket address of the sender
	Control []byte
	Payload []byte
	Flags   uint32 // MSG_TRUNC, MSG_CTRUNC and so on
}

// ParseRecvMsg takes a message apart. buf is as much of the buffer as the completion's result says,
// msg what the request was prepared with. ok is false if buf is too short to be one.
func ParseRecvMsg(buf []byte, msg *unix.Msghdr) (m RecvMsg, ok bool) {
	nameRoom, controlRoom := int(msg.Namelen), int(msg.Controllen)
	if len(buf) < recvMsgHeader+nameRoom+controlRoom {
		return RecvMsg{}, false
	}
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(buf[4*i:]) }
	take := func(used uint32, room int) []byte {
		p := buf[:room:room]
		buf = buf[room:]
		return p[:min(uint64(used), uint64(room))]
	}
	nameLen, controlLen, payloadLen := word(0), word(1), word(2)
	m.Flags = word(3)
	buf = buf[recvMsgHeader:]
	// The lengths are those of the message, which may be more than there was room for.
	m.Name = take(nameLen, nameRoom)
	m.Control = take(controlLen, controlRoom)
	m.Payload = take(payloadLen, len(buf))
	return m, true
}
