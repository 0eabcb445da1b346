package packet

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// spareAddrs are addresses in the kernel's form, for calls.
var spareAddrs = sync.Pool{New: func() any { return new(reactor.Sockaddr) }}

// trySendOrQueue sends a datagram by a system call of the caller, on any goroutine, if nothing is
// queued before it and the socket has room. Else it queues a copy.
func (c *Conn) trySendOrQueue(p []byte, from netip.Addr, to netip.AddrPort) error {
	if !c.beginSyscall() {
		return c.queueCopy(p, from, to)
	}
	errno := c.trySend(p, from, to)
	retired := c.endSyscall()
	switch {
	case errno == 0:
		c.from.Outside.Out.Add(1)
		c.from.Outside.Sent.Add(uint64(len(p)))
		return nil
	case retired: // the error may be of the inert socket
		return c.opError("write", to, net.ErrClosed)
	case errno == syscall.EAGAIN:
		return c.queueCopy(p, from, to)
	}
	c.from.Outside.Dropped[engine.SendFailed].Add(1)
	return c.opError("write", to, sock.Error("sendto", errno))
}

func (c *Conn) trySend(p []byte, from netip.Addr, to netip.AddrPort) syscall.Errno {
	calls := reactor.NewCalls(c.group.Reactor)
	if from.IsValid() {
		return calls.TrySendFrom(c.end.FD, p, from, to, c.kind.Wide)
	}
	sa := spareAddrs.Get().(*reactor.Sockaddr)
	defer spareAddrs.Put(sa)
	if errno := sa.SetAddrPort(to, c.kind.Wide); errno != 0 {
		return errno
	}
	return calls.TrySendTo(c.end.FD, p, sa)
}

// beginSyscall keeps the descriptor open until endSyscall, if nothing is queued.
func (c *Conn) beginSyscall() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := &c.inbox
	if in.closed || in.flight != nil || in.queued+in.bytes > 0 {
		return false
	}
	in.syscalls++
	return true
}

// endSyscall reports whether the socket was closed or severed meanwhile. The task waits for system
// calls before it closes the descriptor. So the last one wakes it.
func (c *Conn) endSyscall() (closed bool) {
	c.mu.Lock()
	in := &c.inbox
	in.syscalls--
	closed = in.closed || in.severed
	last, dead := in.closed && in.syscalls == 0, in.dead
	c.mu.Unlock()
	switch {
	case last && dead:
		c.closeAbandoned()
	case last:
		c.task.Wake()
	}
	return closed
}

func (c *Conn) queueCopy(p []byte, from netip.Addr, to netip.AddrPort) error {
	err := c.enqueue(command{kind: cmdSend, data: slices.Clone(p), from: from, to: to})
	if err == engine.ErrGone {
		return c.opError("write", to, net.ErrClosed)
	}
	return err
}
