//go:build !kqueue

package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// Messages are datagrams for one system call: buffers to receive into, or datagrams to send. The
// zero value is empty. One goroutine may use it at a time. It refers to the caller's memory until
// Reset.
//
// Control messages (SetControl, Control) are in the form of the system.
type Messages struct {
	n     int
	msgs  [MaxMessages]mmsghdr
	iovs  [MaxMessages][2]unix.Iovec // the second is that of SetRest
	names [MaxMessages]Sockaddr
}

// Add adds one message and returns its address, which is not set yet. There may be at most
// MaxMessages.
func (b *Messages) Add(p []byte) *Sockaddr {
	i := b.n
	b.n++
	b.iovs[i][0].Base = unsafe.SliceData(p)
	b.iovs[i][0].SetLen(len(p))
	b.names[i].raw.len = 0
	h := &b.msgs[i].hdr
	*h = unix.Msghdr{Iov: &b.iovs[i][0]}
	h.SetIovlen(1)
	return &b.names[i]
}

// SetRest adds room for the rest of a datagram to receive that is longer than the buffer of Add.
func (b *Messages) SetRest(i int, p []byte) {
	b.iovs[i][1].Base = unsafe.SliceData(p)
	b.iovs[i][1].SetLen(len(p))
	b.msgs[i].hdr.SetIovlen(2)
}

// SetControl adds control messages to a message to be sent, or room for those to receive.
func (b *Messages) SetControl(i int, control []byte) {
	if len(control) > 0 {
		h := &b.msgs[i].hdr
		h.Control = unsafe.SliceData(control)
		h.SetControllen(len(control))
	}
}

// Control returns the control messages that a datagram was received with, as far as there was room.
func (b *Messages) Control(i int) []byte {
	h := &b.msgs[i].hdr
	return unsafe.Slice(h.Control, int(h.Controllen))
}

// Flags returns the flags that a datagram was received with, such as syscall.MSG_TRUNC.
func (b *Messages) Flags(i int) int { return int(b.msgs[i].hdr.Flags) }

// Len returns the number of messages.
func (b *Messages) Len() int { return b.n }

// Drop removes the last message.
func (b *Messages) Drop() {
	b.n--
	b.iovs[b.n], b.msgs[b.n].hdr.Control = [2]unix.Iovec{}, nil
}

// Reset removes all messages.
func (b *Messages) Reset() {
	clear(b.iovs[:b.n]) // they would keep the caller's memory reachable
	for i := range b.n {
		b.msgs[i].hdr.Control = nil
	}
	b.n = 0
}

// Size returns the length of a received datagram, cut off to its buffers.
func (b *Messages) Size(i int) int { return int(b.msgs[i].n) }

// From returns the sender of a received datagram.
func (b *Messages) From(i int) *Sockaddr { return &b.names[i] }

// TryRecvMessages receives datagrams, in order, and returns their number. The error is EAGAIN if
// there is none. An error may come with datagrams: then it is an error of later ones.
func (c Calls) TryRecvMessages(fd int, b *Messages) (int, syscall.Errno) {
	n, errno := c.plannedAgain(faults.RecvFrom, fd, b.n)
	if errno != 0 {
		return 0, errno
	}
	for i := range n {
		h := &b.msgs[i].hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&b.names[i].raw.buf)), uint32(unsafe.Sizeof(b.names[i].raw.buf))
	}
	n, errno = kernel{}.recvmmsg(fd, b.msgs[:n])
	iosync.AfterReceive()
	n = max(0, n)
	for i := range n {
		b.names[i].raw.len = b.msgs[i].hdr.Namelen
	}
	return n, errno
}

// TrySendMessages sends the messages from index first on, in order, and returns how many the socket
// took. If it took none, it returns the error: EAGAIN means that the socket has no room. A message
// without an address goes to the peer of a connected socket.
func (c Calls) TrySendMessages(fd int, b *Messages, first int) (int, syscall.Errno) {
	iosync.BeforeSend()
	n, errno := c.plannedAgain(faults.SendTo, fd, b.n-first)
	if errno != 0 {
		return 0, errno
	}
	for i := first; i < first+n; i++ {
		if h := &b.msgs[i].hdr; b.names[i].IsValid() {
			h.Name, h.Namelen = (*byte)(unsafe.Pointer(&b.names[i].raw.buf)), b.names[i].raw.len
		}
	}
	n, errno = kernel{}.sendmmsg(fd, b.msgs[first:first+n])
	return max(0, n), errno
}

// plannedAgain is planned for a call that is tried again on EINTR.
func (c Calls) plannedAgain(call faults.Call, fd, n int) (most int, errno syscall.Errno) {
	for {
		if most, errno = c.planned(call, fd, n); errno != unix.EINTR {
			return most, errno
		}
	}
}
