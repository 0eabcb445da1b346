package load

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An origin is the echo server behind a proxy, on the load's own thread. A process of its own would
// take turns with the load on a CPU, and each would wait for the other to be switched away: that
// was most of what a proxy seemed to take.
//
// It also knows when each message came and when it was sent back, so that what a proxy had it for
// is known by itself.
type origin struct {
	listener int
	ends     []originEnd
}

// An originEnd is a connection from the proxy.
type originEnd struct {
	fd       int // -1: the proxy has closed it
	wire     wire
	client   int    // whose messages come here, or nobody's yet: -1
	received int    // bytes of the message that has begun to come
	rest     []byte // bytes for which there was no room
}

// Tokens of a poll below 0 are the origin's: that of end i is originFirst-i.
const (
	originAccepts = -1
	originFirst   = -2
)

// newOrigin takes a socket that listens over, for the poll's time.
func newOrigin(listener int, p *poller) (*origin, error) {
	if err := unix.SetNonblock(listener, true); err != nil {
		return nil, fmt.Errorf("load: the origin's listener: %w", os.NewSyscallError("fcntl", err))
	}
	return &origin{listener: listener}, p.add(listener, originAccepts)
}

func (o *origin) close() {
	for i := range o.ends {
		if o.ends[i].fd >= 0 {
			closeAndForget(o.ends[i].fd)
		}
	}
	_ = unix.Close(o.listener)
}

// acceptBehind takes all connections that have come.
func (s *stream) acceptBehind() error {
	for {
		fd, _, err := unix.Accept4(s.origin.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EINTR, unix.ECONNABORTED:
			continue
		case unix.EAGAIN:
			return nil
		default:
			return os.NewSyscallError("accept4", err)
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		w, err := s.stamps.wire(fd)
		if err != nil {
			return err
		}
		s.origin.ends = append(s.origin.ends, originEnd{fd: fd, wire: w, client: -1})
		if err := s.poll.add(fd, originFirst-(len(s.origin.ends)-1)); err != nil {
			return err
		}
	}
}

// serveBehind processes an event at the origin.
func (s *stream) serveBehind(ev unix.EpollEvent) error {
	if ev.Fd == originAccepts {
		return s.acceptBehind()
	}
	e := &s.origin.ends[originFirst-ev.Fd]
	ended := ev.Events&endEvents != 0
	if err := e.send(nil); err != nil {
		return err
	}
	for more := e.fd >= 0; more; {
		n, again, err := e.wire.read(s.in, ended)
		if err != nil && e.client < 0 || err == errEnded { // a probe; or, and then its client hears of it, a connection that was used
			closeAndForget(e.fd)
			e.fd = -1
			return nil
		}
		if err != nil {
			return err
		}
		more = again
		if n > 0 {
			s.turns(e, n)
			if err := e.send(s.in[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// send sends as many bytes as there is room for, and keeps the rest.
func (e *originEnd) send(p []byte) error {
	if len(e.rest) > 0 || len(p) == 0 {
		e.rest = append(e.rest, p...)
		p = e.rest
	}
	n := 0
	if len(p) > 0 {
		var err error
		if n, err = e.wire.write(p); err != nil {
			return err
		}
	}
	e.rest = append(e.rest[:0], p[n:]...)
	return nil
}

// turns notes that bytes have come and are about to be sent back.
func (s *stream) turns(e *originEnd, n int) {
	if e.client < 0 {
		e.client = s.greeted
	}
	c := &s.clients[e.client]
	if e.received += n; e.received < s.size {
		return
	}
	e.received %= s.size
	c.inProxy = s.stamps.arrived.Sub(s.pace.began) - c.sentAt
	c.turnedAt = s.pace.now()
}

// passage is the time in the proxy of the client's message that has returned now. It has two parts:
// from the call that sent it to its arrival at the origin, and from the call that sent it back to
// its arrival here. If another message was under way on the connection, the two cannot be told
// apart. Then the whole latency counts.
func (c *client) passage(now, latency time.Duration) time.Duration {
	if !c.alone {
		return latency
	}
	return c.inProxy + now - c.turnedAt
}
