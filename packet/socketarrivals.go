package packet

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// arrivals are datagrams that a Socket has received, and that no read has returned yet. One system
// call receives several messages. Each message may be several datagrams that the kernel has joined.
type arrivals struct {
	mu    sync.Mutex
	room  *arrivalRoom   // nil: there are no arrivals
	n     int            // the number of messages in room
	next  int            // the index of the current message
	at    int            // the offset of the next datagram in the current message
	err   syscall.Errno  // to be returned after the messages; 0: none
	joins bool           // the kernel joins datagrams
	alone bool           // it must not, and nothing may be kept: other code receives as well
	from  netip.AddrPort // the sender of the current message
	addr  *net.UDPAddr   // from in another form; nil: not needed yet

	// These describe the current message.
	control []byte
	segment int // the length of its datagrams, except the last; 0: it is one datagram
	flags   int

	unread atomic.Bool // there are datagrams or an error: see ready.Socket.Block
}

// fill receives messages if there are no arrivals. If it returns 0, there are arrivals. EAGAIN
// means that nothing has arrived. The lock is held.
func (a *arrivals) fill(fd int, calls reactor.Calls) syscall.Errno {
	if a.room != nil {
		return 0
	}
	if errno := a.err; errno != 0 {
		a.err = 0
		a.unread.Store(false)
		return errno
	}
	most := mostArrivals
	if a.alone {
		most = 1
	}
	a.join(fd, !a.alone)
	r := arrivalRooms.Get().(*arrivalRoom)
	n, errno := r.receive(fd, calls, most)
	if n == 0 {
		r.put()
		return errno
	}
	a.room, a.n, a.next, a.err = r, n, 0, errno
	a.begin()
	return 0
}

// join asks the kernel to join datagrams or not to join them. The lock is held.
func (a *arrivals) join(fd int, on bool) {
	if a.joins != on {
		a.joins = on
		_ = sock.WantCoalesced(fd, on) // after an error they arrive one at a time
	}
}

// separate makes datagrams arrive one at a time for good, and none be kept.
func (a *arrivals) separate(fd int) {
	a.mu.Lock()
	a.alone = true
	a.join(fd, false)
	a.mu.Unlock()
}

// begin makes the message of index next the current one. The lock is held.
func (a *arrivals) begin() {
	m := &a.room.calls
	a.at, a.flags = 0, m.Flags(a.next)&^sock.Truncated
	a.control, a.segment = sock.CutSegment(m.Control(a.next))
	if from := m.From(a.next).AddrPort(); from != a.from {
		a.from, a.addr = from, nil
	}
}

// sender returns the address that the next datagram came from. Successive datagrams of one sender
// share it. The lock is held, and there are arrivals.
func (a *arrivals) sender() *net.UDPAddr {
	if a.addr == nil && a.from.IsValid() {
		a.addr = net.UDPAddrFromAddrPort(a.from)
	}
	return a.addr
}

// take copies the next datagram and its control messages, as far as they fit. It returns the
// lengths of the copies, and the flags. The lock is held, and there are arrivals.
func (a *arrivals) take(to [][]byte, control []byte) (n, controlled, flags int) {
	size := a.room.calls.Size(a.next)
	end := size
	if a.segment > 0 {
		end = min(size, a.at+a.segment)
	}
	flags = a.flags
	for _, p := range to {
		n += a.room.copy(p, a.next, a.at+n, end)
	}
	if a.at+n < end {
		flags |= sock.Truncated
	}
	controlled, all := sock.CopyControl(control, a.control)
	if !all {
		flags |= sock.ControlTruncated
	}
	if a.at = end; end == size {
		a.advance()
	}
	return n, controlled, flags
}

// advance goes to the next message. The lock is held.
func (a *arrivals) advance() {
	a.room.done(a.next)
	if a.next++; a.next < a.n {
		a.begin()
		return
	}
	a.release()
}

// release gives the room back. The lock is held, and there is a room.
func (a *arrivals) release() {
	a.room.put()
	a.room, a.control = nil, nil
}

// drop drops all arrivals.
func (a *arrivals) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.room != nil {
		a.release()
	}
}
