//go:build (unix && !linux) || kqueue || windows

package reactor

import "syscall"

// Messages are datagrams for one system call: buffers to receive into, or datagrams to send. The
// zero value is empty. One goroutine may use it at a time. It refers to the caller's memory until
// Reset.
//
// Control messages (SetControl, Control) are in the form of the system. On Windows none are
// received, and a datagram with some is not sent.
type Messages struct {
	n        int
	data     [MaxMessages][2][]byte // the second is that of SetRest
	sizes    [MaxMessages]int
	names    [MaxMessages]Sockaddr
	controls [MaxMessages][]byte
	flags    [MaxMessages]int
}

// Add adds one message and returns its address, which is not set yet. There may be at most
// MaxMessages.
func (b *Messages) Add(p []byte) *Sockaddr {
	i := b.n
	b.n++
	b.data[i] = [2][]byte{p}
	b.names[i].raw.len, b.controls[i], b.flags[i] = 0, nil, 0
	return &b.names[i]
}

// SetRest adds room for the rest of a datagram to receive that is longer than the buffer of Add.
// There must be room for a whole datagram in it: see messages_windows.go.
func (b *Messages) SetRest(i int, p []byte) { b.data[i][1] = p }

// SetControl adds control messages to a message to be sent, or room for those to receive.
func (b *Messages) SetControl(i int, control []byte) { b.controls[i] = control }

// Control returns the control messages that a datagram was received with, as far as there was room.
func (b *Messages) Control(i int) []byte { return b.controls[i] }

// Flags returns the flags that a datagram was received with, such as syscall.MSG_TRUNC.
func (b *Messages) Flags(i int) int { return b.flags[i] }

// Len returns the number of messages.
func (b *Messages) Len() int { return b.n }

// Drop removes the last message.
func (b *Messages) Drop() {
	b.n--
	b.data[b.n], b.controls[b.n] = [2][]byte{}, nil
}

// Reset removes all messages.
func (b *Messages) Reset() {
	clear(b.data[:b.n])
	clear(b.controls[:b.n])
	b.n = 0
}

// Size returns the length of a received datagram, cut off to its buffers.
func (b *Messages) Size(i int) int { return b.sizes[i] }

// From returns the sender of a received datagram.
func (b *Messages) From(i int) *Sockaddr { return &b.names[i] }

// TryRecvMessages receives datagrams, in order, and returns their number. The error is EAGAIN if
// there is none. An error may come with datagrams: then it is an error of later ones. On this
// system each datagram is a system call.
func (c Calls) TryRecvMessages(fd int, b *Messages) (n int, errno syscall.Errno) {
	for n < b.n {
		errno = c.tryRecvMessage(fd, b, n)
		if errno != 0 {
			break
		}
		n++
	}
	if n > 0 && errno == syscall.EAGAIN {
		errno = 0
	}
	return n, errno
}

// TrySendMessages sends the messages from index first on, in order, and returns how many the socket
// took. If it took none, it returns the error: EAGAIN means that the socket has no room. A message
// without an address goes to the peer of a connected socket. On this system each datagram is a
// system call.
func (c Calls) TrySendMessages(fd int, b *Messages, first int) (n int, errno syscall.Errno) {
	for i := first; i < b.n; i++ {
		var to *Sockaddr
		if b.names[i].IsValid() {
			to = &b.names[i]
		}
		if len(b.controls[i]) > 0 {
			errno = c.trySendControl(fd, b.data[i][0], b.controls[i], to)
		} else {
			errno = c.TrySendTo(fd, b.data[i][0], to)
		}
		if errno != 0 {
			break
		}
		n++
	}
	if n > 0 {
		errno = 0
	}
	return n, errno
}
