//go:build unix

package reactor

import (
	"errors"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// PrepareTry makes a socket non-blocking. Only Windows needs it.
func PrepareTry(int) syscall.Errno { return 0 }

// TryRecvFrom receives one datagram into p and returns its length, which is at most len(p): the
// rest of a longer one is lost. from, unless it is nil, is set to the sender. The error is EAGAIN
// if there is no datagram.
func (c Calls) TryRecvFrom(fd int, p []byte, from *Sockaddr) (int, syscall.Errno) {
	for {
		n := 0
		_, errno := c.planned(faults.RecvFrom, fd, 1)
		if errno == 0 {
			n, errno = sysRecvFrom(fd, p, from)
		}
		if errno != unix.EINTR {
			iosync.AfterReceive()
			return n, errno
		}
	}
}

// TrySendTo sends one datagram. A nil to is the peer of a connected socket. The error is EAGAIN if
// the socket has no room.
func (c Calls) TrySendTo(fd int, p []byte, to *Sockaddr) syscall.Errno {
	iosync.BeforeSend()
	for {
		_, errno := c.planned(faults.SendTo, fd, 1)
		if errno == 0 {
			errno = sysSendTo(fd, p, to)
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}

// spareBatches are for TrySendFrom.
var spareBatches = sync.Pool{New: func() any { return new(Batch) }}

// TrySendFrom is TrySendTo for a datagram that leaves from an address of this host: see Batch.From.
// wide says that the socket is an IPv6 one.
func (c Calls) TrySendFrom(fd int, p []byte, from netip.Addr, to netip.AddrPort, wide bool) (errno syscall.Errno) {
	b := spareBatches.Get().(*Batch)
	defer spareBatches.Put(b)
	b.Reset()
	b.Wide, b.From = wide, from
	if err := b.Add(p, to); err != nil {
		errors.As(err, &errno)
		return errno
	}
	b.prepare()
	iosync.BeforeSend()
	for {
		if _, errno = c.planned(faults.SendTo, fd, 1); errno == 0 {
			_, errno = kernel{}.sendmmsg(fd, b.raw.msgs)
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}
