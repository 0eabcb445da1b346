package uring

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SQE is struct io_uring_sqe: one request, as the kernel reads it. The Prep method of an operation
// sets the fields that the operation uses.
//
// A Prep method sets every field except UserData and Flags, which the caller may set before or
// after it. The exceptions are the receives that take their buffer from a group: they add
// IOSQE_BUFFER_SELECT, so change Flags after them only with |=.
type SQE struct {
	Opcode      uint8
	Flags       uint8  // IOSQE_*
	IOPrio      uint16 // modifiers of accept, send and receive
	FD          int32
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32
	UserData    uint64 // comes back in CQE.UserData
	BufGroup    uint16 // or the index of a registered buffer
	Personality uint16
	FileIndex   int32
	Addr3       uint64
	Resv        uint64
}

// Timespec is struct __kernel_timespec: 64-bit on every architecture, unlike unix.Timespec.
type Timespec struct {
	Sec  int64
	Nsec int64
}

// Sizes are part of the contract with the kernel: a change does not compile.
var (
	_ [64]byte = [unsafe.Sizeof(SQE{})]byte{}
	_ [16]byte = [unsafe.Sizeof(Timespec{})]byte{}
	_ [32]byte = [unsafe.Offsetof(SQE{}.UserData)]byte{}
)

// prep sets all fields but Flags and UserData. Fields without an argument are zero.
func (s *SQE) prep(op uint8, fd int, addr uint64, n uint32, off uint64, opFlags uint32) {
	*s = SQE{
		Opcode:   op,
		Flags:    s.Flags,
		FD:       int32(fd),
		Off:      off,
		Addr:     addr,
		Len:      n,
		OpFlags:  opFlags,
		UserData: s.UserData,
	}
}

// PrepNop does nothing and completes with 0.
func (s *SQE) PrepNop() { s.prep(IORING_OP_NOP, -1, 0, 0, 0, 0) }

// PrepAccept accepts from a listening socket; flags are SOCK_NONBLOCK and SOCK_CLOEXEC. The result
// is the new descriptor. Multishot stays armed while completions say More.
func (s *SQE) PrepAccept(fd int, flags uint32, multishot bool) {
	s.prep(IORING_OP_ACCEPT, fd, 0, 0, 0, flags)
	if multishot {
		s.IOPrio = IORING_ACCEPT_MULTISHOT
	}
}

// PrepRecv receives into a buffer of the group; the completion tells which (CQE.BufferID). ENOBUFS,
// which ends a multishot, means the group was empty.
func (s *SQE) PrepRecv(fd int, group uint16, multishot bool) {
	s.prep(IORING_OP_RECV, fd, 0, 0, 0, 0)
	s.selectBuffer(group, multishot)
}

// PrepRecvInto receives into p.
func (s *SQE) PrepRecvInto(fd int, p []byte, msgFlags uint32) {
	s.prep(IORING_OP_RECV, fd, addrOf(p), uint32(len(p)), 0, msgFlags)
}

// PrepSend sends p; the result may be less than its length unless msgFlags has MSG_WAITALL.
func (s *SQE) PrepSend(fd int, p []byte, msgFlags uint32) {
	s.prep(IORING_OP_SEND, fd, addrOf(p), uint32(len(p)), 0, msgFlags)
}

// PrepSendMsg sends the message msg. The header and its iovecs may be reused once the entry is
// submitted (IORING_FEAT_SUBMIT_STABLE). name, control and data must stay until the completion.
func (s *SQE) PrepSendMsg(fd int, msg *unix.Msghdr, flags uint32) {
	s.prep(IORING_OP_SENDMSG, fd, addr(escape(unsafe.Pointer(msg))), 1, 0, flags)
}

// PrepRecvMsg receives into the buffers of msg. msg must stay until the completion, which updates
// it.
func (s *SQE) PrepRecvMsg(fd int, msg *unix.Msghdr, flags uint32) {
	s.prep(IORING_OP_RECVMSG, fd, addr(escape(unsafe.Pointer(msg))), 1, 0, flags)
}

// PrepRecvMsgGroup receives a message into a buffer of the group. It uses only Namelen and
// Controllen of msg: the room to keep in each buffer for them. A multishot uses the layout that
// ParseRecvMsg reads, and msg must stay until its last completion.
func (s *SQE) PrepRecvMsgGroup(fd int, msg *unix.Msghdr, flags uint32, group uint16, multishot bool) {
	s.PrepRecvMsg(fd, msg, flags)
	s.selectBuffer(group, multishot)
}

func (s *SQE) selectBuffer(group uint16, multishot bool) {
	s.Flags |= IOSQE_BUFFER_SELECT
	s.BufGroup = group
	if multishot {
		s.IOPrio = IORING_RECV_MULTISHOT
	}
}

// PrepConnect connects to the socket address of salen bytes at sa.
func (s *SQE) PrepConnect(fd int, sa unsafe.Pointer, salen uint32) {
	s.prep(IORING_OP_CONNECT, fd, addr(escape(sa)), 0, uint64(salen), 0)
}

// PrepCancel cancels the request with that user data. The result is 0, ENOENT if there is none, or
// EALREADY if it runs and cannot be stopped; with IORING_ASYNC_CANCEL_ALL, the number canceled. The
// canceled request completes with ECANCELED.
func (s *SQE) PrepCancel(target uint64, flags uint32) {
	s.prep(IORING_OP_ASYNC_CANCEL, -1, target, 0, 0, flags)
}

// PrepCancelFD cancels a request on the descriptor, or all with IORING_ASYNC_CANCEL_ALL.
func (s *SQE) PrepCancelFD(fd int, flags uint32) {
	s.prep(IORING_OP_ASYNC_CANCEL, fd, 0, 0, 0, flags|IORING_ASYNC_CANCEL_FD)
}

// PrepClose closes the descriptor.
func (s *SQE) PrepClose(fd int) { s.prep(IORING_OP_CLOSE, fd, 0, 0, 0, 0) }

// PrepShutdown shuts the socket down; how is SHUT_RD, SHUT_WR or SHUT_RDWR.
func (s *SQE) PrepShutdown(fd, how int) { s.prep(IORING_OP_SHUTDOWN, fd, 0, uint32(how), 0, 0) }

// PrepRead reads into p at offset off; ^uint64(0) is the file's own position, and pipes, sockets
// and eventfds want 0 or that.
func (s *SQE) PrepRead(fd int, p []byte, off uint64) {
	s.prep(IORING_OP_READ, fd, addrOf(p), uint32(len(p)), off, 0)
}

// PrepPollAdd waits for one of the events in mask (POLLIN and so on). The result is the events that
// have occurred.
func (s *SQE) PrepPollAdd(fd int, mask uint32, multishot bool) {
	if bigEndian {
		mask = mask<<16 | mask>>16 // poll32_events is word-reversed there
	}
	s.prep(IORING_OP_POLL_ADD, fd, 0, 0, 0, mask)
	if multishot {
		s.Len = IORING_POLL_ADD_MULTI
	}
}

// PrepPollUpdate gives the multishot poll with that user data another mask. The poll then reports
// the state anew. It fails with EALREADY if the poll is about to report, and with ENOENT if there
// is none.
func (s *SQE) PrepPollUpdate(target uint64, mask uint32) {
	if bigEndian {
		mask = mask<<16 | mask>>16
	}
	s.prep(IORING_OP_POLL_REMOVE, -1, target, IORING_POLL_UPDATE_EVENTS|IORING_POLL_ADD_MULTI, 0, mask)
}

// PrepMsgRing posts a completion with that result and user data to another ring.
func (s *SQE) PrepMsgRing(ringFD int, res uint32, data uint64) {
	s.prep(IORING_OP_MSG_RING, ringFD, IORING_MSG_DATA, res, data, 0)
}

// PrepTimeout completes with ETIME after ts, or with 0 once count other requests have completed, if
// count is not zero. The kernel copies ts when the entry is submitted.
func (s *SQE) PrepTimeout(ts *Timespec, count, flags uint32) {
	s.prep(IORING_OP_TIMEOUT, -1, addr(escape(unsafe.Pointer(ts))), 1, uint64(count), flags)
}

const bigEndian = runtime.GOARCH == "ppc64" || runtime.GOARCH == "s390x" ||
	runtime.GOARCH == "mips" || runtime.GOARCH == "mips64"

func addr(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// addrOf is the address of p's bytes, 0 for a nil slice.
func addrOf(p []byte) uint64 { return addr(escape(unsafe.Pointer(unsafe.SliceData(p)))) }

var (
	neverTrue bool
	//lint:ignore U1000 it is only ever stored to: that is its purpose
	escapeSink unsafe.Pointer
)

// escape makes the compiler place what p points at on the heap. A conversion to uintptr alone does
// not, and a stack moves when it grows: the kernel would then write to where the buffer used to be.
func escape(p unsafe.Pointer) unsafe.Pointer {
	if neverTrue {
		escapeSink = p
	}
	return p
}
