package packet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
)

// Sessions is a Handler that keeps a Session for each peer, that is for each address that has sent
// a datagram lately. A peer that sends to several addresses of this host has a session for each.
// One value may serve several sockets, such as those of a Server with ReusePort. Each socket has
// its own sessions. Handler is then called by several workers at a time, but for one socket by one
// worker. The fields must not change meanwhile. The value must not be copied.
//
// Sessions has the methods of Handler so that it can be used wherever a Handler can, as an
// http.ServeMux is an http.Handler. A Handler of the user's own may embed it and extend these
// methods. Only the socket, or such a Handler, may call them.
type Sessions struct {
	Base

	// Handler has the callbacks of each session.
	Handler SessionHandler

	// Idle is the time after which a session ends if its peer sends nothing. 0: a minute.
	Idle time.Duration

	// CountSent makes datagrams to the peer, too, restart the idle time, by whichever method they
	// are sent. It is for relays, where either side may be silent. With it, a server that sends
	// without being asked keeps sessions of peers that have gone.
	CountSent bool

	// Max is the maximum number of sessions at a time, of all sockets together. Datagrams of
	// further peers are dropped, and counted in Refused. 0: 65536.
	Max int

	tables  sync.Map // *Conn: *sessionTable, until the socket's OnClose
	live    atomic.Int64
	refused atomic.Uint64
}

// A SessionHandler has the callbacks of a session. If one returns an error, the session ends, and
// OnClose gets the error. A panic ends the socket and all of its sessions, and OnClose is called
// for each session.
type SessionHandler interface {
	// OnOpen is called when a peer without a session has sent a datagram. OnPacket gets the
	// datagram next. After an error the datagram is dropped, the session ends, and OnClose is
	// called.
	OnOpen(s *Session) error

	// OnPacket is called for each datagram from the peer.
	OnPacket(s *Session, p Packet) error

	// OnClose is the last call: the session has ended. err is nil after Close. It matches
	// os.ErrDeadlineExceeded when the session was idle for Sessions.Idle. It matches net.ErrClosed
	// when the socket has ended, and also the error that has ended the socket. Nothing can be sent
	// on the socket then.
	OnClose(s *Session, err error)
}

// A Session is one peer of a socket. On a socket that is bound to an unspecified address it is the
// peer's exchange with one address of this host: see Local. Its methods are for the handler, while
// one of the handler's methods runs.
type Session struct {
	peer  netip.AddrPort
	local netip.Addr // invalid: the kernel chooses the source of answers
	other *Session   // of the same peer with another local address; nil: there is none
	table *sessionTable
	value any
	last  time.Duration // time of the last datagram received, or sent if CountSent is set
	sent  atomic.Int64  // of SessionTasks: time of the last datagram that Peer.Send sent
	older *Session
	newer *Session
	over  bool
}

var _ Handler = (*Sessions)(nil)

const (
	defaultIdle = time.Minute
	defaultMax  = 65536
)

// Peer returns the address of the session's peer.
func (s *Session) Peer() netip.AddrPort { return s.peer }

// Local returns the address of this host that the peer sends to and that the session's datagrams
// leave from. On Linux it is valid for a socket that is bound to an unspecified address, unless the
// peer sends to a group or a broadcast address. A peer that sends to two addresses has two
// sessions.
func (s *Session) Local() netip.Addr { return s.local }

// Conn returns the socket.
func (s *Session) Conn() *Conn { return s.table.conn }

// Write queues a datagram to the peer, as Conn.WriteFrom does from Local.
func (s *Session) Write(p []byte) (int, error) {
	if err := s.table.conn.WriteFrom(p, s.local, s.peer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Value returns the value that SetValue stored, or nil.
func (s *Session) Value() any { return s.value }

// SetValue stores the handler's own state of this session.
func (s *Session) SetValue(v any) { s.value = v }

// Close ends the session. OnClose is called before Close returns. A later datagram of the peer
// opens another session. Further calls do nothing.
func (s *Session) Close() { s.table.end(s, nil) }

// Stackful reports whether Handler is a SessionTasks, or has a Stackful method that returns true.
// See conn.Stackful.
func (m *Sessions) Stackful() bool {
	h, ok := m.Handler.(interface{ Stackful() bool })
	return ok && h.Stackful()
}

// Len returns the number of sessions, of all sockets. Any goroutine may call it.
func (m *Sessions) Len() int { return int(m.live.Load()) }

// Refused returns the number of datagrams that were dropped because of Max. Any goroutine may call
// it.
func (m *Sessions) Refused() uint64 { return m.refused.Load() }

// Session returns the session of a peer on a socket, or nil. If the peer has several, it is the one
// that was opened last. Session is for the handler of the socket's sessions, while one of its
// methods runs.
func (m *Sessions) Session(c *Conn, peer netip.AddrPort) *Session {
	if t, ok := m.tables.Load(c); ok {
		return t.(*sessionTable).peers[unmapped(peer)]
	}
	return nil
}

// table returns the socket's table. It makes one if there is none.
func (m *Sessions) table(c *Conn) *sessionTable {
	if t, ok := m.tables.Load(c); ok {
		return t.(*sessionTable)
	}
	t := &sessionTable{owner: m, conn: c, peers: make(map[netip.AddrPort]*Session)}
	m.tables.Store(c, t)
	c.abandons = append(c.abandons, t.abandon)
	if m.CountSent {
		c.sent = append(c.sent, t.sent)
	}
	return t
}

// OnPackets implements Handler.
func (m *Sessions) OnPackets(c *Conn, batch []Packet) error {
	m.table(c).receive(batch)
	return nil
}

// OnTimer implements Handler.
func (m *Sessions) OnTimer(c *Conn) error {
	t := m.table(c)
	t.expire(c.group.RT.Now())
	t.arm()
	return nil
}

// OnClose implements Handler.
func (m *Sessions) OnClose(c *Conn, err error) {
	t, ok := m.tables.LoadAndDelete(c)
	if !ok {
		return
	}
	t.(*sessionTable).endAll(c.sessionsEnd(err))
}

// sessionsEnd is the error of the sessions of a socket that has ended with err. Only an idle
// session's matches os.ErrDeadlineExceeded.
func (c *Conn) sessionsEnd(err error) error {
	switch {
	case err == nil:
		err = engine.ErrGone
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w: %v", engine.ErrGone, err) //nolint:errorlint // only an idle session's is a time-out
	case errors.Is(err, net.ErrClosed):
		return err
	default:
		err = fmt.Errorf("%w: %w", engine.ErrGone, err)
	}
	return c.opError("close", netip.AddrPort{}, err)
}

// admit counts a session, unless there are too many.
func (m *Sessions) admit() bool {
	most := int64(m.Max)
	if most == 0 {
		most = defaultMax
	}
	if m.live.Add(1) > most {
		m.live.Add(-1)
		m.refused.Add(1)
		return false
	}
	return true
}

func (m *Sessions) idle() time.Duration {
	if m.Idle > 0 {
		return m.Idle
	}
	return defaultIdle
}
