package conn

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/sock"
)

// LocalAddr implements net.Conn.
func (s *Socket) LocalAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.local == nil && s.c != nil && !s.gone {
		s.local = s.c.LocalAddr() // the descriptor is open: see leave
	}
	if s.local == nil && s.c == nil && s.stream != nil {
		s.local = s.stream.localAddr(false)
	}
	return s.local // nil: it was never open
}

// leave is called by the task before the descriptor is closed, or is another's to use.
func (s *Socket) leave(c *core.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.local == nil {
		s.local = c.LocalAddr()
	}
	s.gone = true
}

// RemoteAddr implements net.Conn.
func (s *Socket) RemoteAddr() net.Addr {
	if c := s.conn(); c != nil {
		return c.Remote()
	}
	if s.stream != nil {
		return s.stream.RemoteAddr()
	}
	return nil
}

// SetDeadline implements net.Conn.
func (s *Socket) SetDeadline(t time.Time) error { return s.setDeadlines(t, true, true) }

// SetReadDeadline implements net.Conn.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.setDeadlines(t, true, false) }

// SetWriteDeadline implements net.Conn.
func (s *Socket) SetWriteDeadline(t time.Time) error { return s.setDeadlines(t, false, true) }

func (s *Socket) setDeadlines(t time.Time, read, write bool) error {
	return s.opErrorOf("set", s.duplex.SetDeadlines(t, read, write))
}

// SetNoDelay is that of *net.TCPConn; on is the default.
func (s *Socket) SetNoDelay(on bool) error {
	return s.setOption(func(fd int) error { return sock.SetNoDelay(fd, on) })
}

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes.
func (s *Socket) SetReadBuffer(bytes int) error {
	return s.setOption(func(fd int) error { return sock.SetReadBuffer(fd, bytes) })
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes.
func (s *Socket) SetWriteBuffer(bytes int) error {
	return s.setOption(func(fd int) error { return sock.SetWriteBuffer(fd, bytes) })
}

// SetKeepAlive turns keep-alive probes on or off.
func (s *Socket) SetKeepAlive(on bool) error {
	return s.setKeepAlive(net.KeepAliveConfig{Enable: on})
}

// SetKeepAlivePeriod sets after how much silence the first probe is sent, in whole
// seconds, at least one.
func (s *Socket) SetKeepAlivePeriod(d time.Duration) error {
	return s.setKeepAlive(net.KeepAliveConfig{Enable: true, Idle: max(d, time.Second)})
}

// Package net's defaults for zero fields of a net.KeepAliveConfig.
const (
	keepAlivePeriod = 15 * time.Second
	keepAliveProbes = 9
)

// SetKeepAliveConfig is that of *net.TCPConn, in whole seconds: 0 is 15 s, or 9 probes, and a
// negative value stays as it is. With Enable false nothing else is set.
func (s *Socket) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	k.Idle, k.Interval = cmp.Or(k.Idle, keepAlivePeriod), cmp.Or(k.Interval, keepAlivePeriod)
	k.Count = cmp.Or(k.Count, keepAliveProbes)
	return s.setKeepAlive(k)
}

func (s *Socket) setKeepAlive(k net.KeepAliveConfig) error {
	return s.setOption(func(fd int) error { return sock.SetKeepAlive(fd, k) })
}

// SetLinger changes Close. With 0, unsent bytes are dropped and the peer sees a reset. With any
// other value they are sent, as Socket says.
func (s *Socket) SetLinger(sec int) error { return s.opErrorOf("set", s.duplex.Reset(sec == 0)) }

func (s *Socket) setOption(set func(fd int) error) error {
	return s.opErrorOf("set", s.withFD(set))
}

// withFD calls f with the descriptor, while that is open and the Socket as well.
func (s *Socket) withFD(f func(fd int) error) error {
	c := s.conn()
	if c == nil || s.duplex.State().Closed {
		return net.ErrClosed
	}
	return c.WithFD(f)
}

// Context is Conn.Context, for any goroutine. Before a dialed connection is established the context
// has ended. In a bubble of testing/synctest whose workers are outside, no context may be derived
// from it.
func (s *Socket) Context() context.Context {
	h := s.handle()
	if h.Group != nil && s.duplex.State().Closed {
		return h.Group.EndedContext(h)
	}
	return h.Context()
}
