package reactor

import "syscall"

// tryRecvMessage receives the i-th message, without control messages.
func (c Calls) tryRecvMessage(fd int, b *Messages, i int) syscall.Errno {
	b.controls[i] = nil
	to, rest := b.data[i][0], b.data[i][1]
	if rest != nil { // one buffer at a time: the beginning is moved
		to = rest
	}
	n, errno := c.TryRecvFrom(fd, to, &b.names[i])
	if rest != nil && errno == 0 {
		begun := copy(b.data[i][0], rest[:n])
		copy(rest, rest[begun:n])
	}
	b.sizes[i] = n
	return errno
}

// trySendControl refuses, since control messages take WSASendMsg, which nothing here asks for.
func (Calls) trySendControl(int, []byte, []byte, *Sockaddr) syscall.Errno { return syscall.EOPNOTSUPP }
