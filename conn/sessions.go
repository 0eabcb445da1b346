package conn

import (
	"net/netip"
	"os"
	"time"
)

// Sessions is a PacketHandler that tells the datagrams of different peers apart: it
// keeps a Session for each address that has sent something lately. One value serves
// one socket, and its fields must not change meanwhile. Sessions are kept in the
// order in which something last came, so that finding those that have expired costs
// nothing for the others.
type Sessions struct {
	PacketBase

	// Handler is told what happens to each session.
	Handler SessionHandler

	// Idle is how long a session lives after the last datagram from its peer. 0: a
	// minute.
	Idle time.Duration

	// Max bounds the sessions there are at a time. Datagrams of further peers are
	// dropped, and counted in Refused. 0: 65536.
	Max int

	peers   map[netip.AddrPort]*Session
	oldest  *Session // the one from which nothing has come for the longest
	newest  *Session
	refused uint64
}

// A SessionHandler is told what happens to a session, as a PacketHandler is to a
// socket: an error that a method returns ends the session, and is given to OnClose; a
// panic ends the socket, and with it all of them.
type SessionHandler interface {
	// OnOpen: a peer without a session has sent a datagram, which OnPacket is given
	// next. With an error it is dropped, the session ends, and OnClose is called.
	OnOpen(s *Session) error

	// OnPacket: a datagram has come from the peer.
	OnPacket(s *Session, p Packet) error

	// OnClose: the session has ended; the last call. err is nil after Close, matches
	// os.ErrDeadlineExceeded when nothing has come for Sessions.Idle, and
	// net.ErrClosed when the socket has ended, on which nothing can be sent then.
	OnClose(s *Session, err error)
}

// A Session is one peer of a socket. Its methods are for its handler, while a method
// of that runs.
type Session struct {
	peer  netip.AddrPort
	conn  *PacketConn
	owner *Sessions
	value any
	last  time.Time // when something last came
	older *Session
	newer *Session
	over  bool
}

var _ PacketHandler = (*Sessions)(nil)

const (
	defaultIdle = time.Minute
	defaultMax  = 65536
)

// Peer is the session's peer.
func (s *Session) Peer() netip.AddrPort { return s.peer }

// Conn is the socket.
func (s *Session) Conn() *PacketConn { return s.conn }

// Write queues a datagram to the peer, as PacketConn.WriteTo does.
func (s *Session) Write(p []byte) (int, error) {
	if err := s.conn.WriteTo(p, s.peer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Value is what SetValue stored, or nil.
func (s *Session) Value() any { return s.value }

// SetValue stores the handler's own state of this session.
func (s *Session) SetValue(v any) { s.value = v }

// Close ends the session; OnClose is called before Close returns. A datagram that
// comes later opens another. More calls do nothing.
func (s *Session) Close() { s.owner.end(s, nil) }

// Len is the number of sessions. It is for handlers, as all of what Sessions has.
func (m *Sessions) Len() int { return len(m.peers) }

// Refused is the number of datagrams that were dropped for want of room.
func (m *Sessions) Refused() uint64 { return m.refused }

// Session is the session of a peer, nil if there is none.
func (m *Sessions) Session(peer netip.AddrPort) *Session { return m.peers[peer] }

// OnPackets implements PacketHandler.
func (m *Sessions) OnPackets(c *PacketConn, batch []Packet) error {
	now := c.Group().rt.Time(c.group.rt.Now())
	m.expire(c, now) // first, so that a datagram does not revive what was over before it came
	for _, p := range batch {
		s := m.peers[p.From]
		if s == nil {
			if s = m.open(c, p.From); s == nil {
				continue
			}
		}
		m.touch(s, now)
		if err := m.Handler.OnPacket(s, p); err != nil {
			m.end(s, err)
		}
	}
	m.arm(c)
	return nil
}

// OnTimer implements PacketHandler.
func (m *Sessions) OnTimer(c *PacketConn) error {
	m.expire(c, c.group.rt.Time(c.group.rt.Now()))
	m.arm(c)
	return nil
}

// OnClose implements PacketHandler.
func (m *Sessions) OnClose(c *PacketConn, err error) {
	if err == nil {
		err = c.opError("close", netip.AddrPort{}, errGone)
	}
	for m.oldest != nil {
		m.end(m.oldest, err)
	}
}

func (m *Sessions) open(c *PacketConn, peer netip.AddrPort) *Session {
	most := m.Max
	if most == 0 {
		most = defaultMax
	}
	if len(m.peers) >= most {
		m.refused++
		return nil
	}
	if m.peers == nil {
		m.peers = make(map[netip.AddrPort]*Session)
	}
	s := &Session{peer: peer, conn: c, owner: m}
	m.peers[peer] = s
	m.link(s)
	if err := m.Handler.OnOpen(s); err != nil {
		m.end(s, err)
	}
	if s.over {
		return nil
	}
	return s
}

// touch makes a session the newest.
func (m *Sessions) touch(s *Session, now time.Time) {
	s.last = now
	if m.newest != s {
		m.unlink(s)
		m.link(s)
	}
}

func (m *Sessions) link(s *Session) {
	s.older, s.newer = m.newest, nil
	if m.newest != nil {
		m.newest.newer = s
	} else {
		m.oldest = s
	}
	m.newest = s
}

func (m *Sessions) unlink(s *Session) {
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		m.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		m.newest = s.older
	}
	s.older, s.newer = nil, nil
}

func (m *Sessions) end(s *Session, err error) {
	if s.over {
		return
	}
	s.over = true
	m.unlink(s)
	delete(m.peers, s.peer)
	m.Handler.OnClose(s, err)
}

func (m *Sessions) idle() time.Duration {
	if m.Idle > 0 {
		return m.Idle
	}
	return defaultIdle
}

func (m *Sessions) expire(c *PacketConn, now time.Time) {
	for m.oldest != nil && !now.Before(m.oldest.last.Add(m.idle())) {
		m.end(m.oldest, c.opError("idle", m.oldest.peer, os.ErrDeadlineExceeded))
	}
}

// arm has the timer look again when the next session can have expired.
func (m *Sessions) arm(c *PacketConn) {
	if m.oldest != nil {
		c.SetTimer(m.oldest.last.Add(m.idle()))
	} else {
		c.SetTimer(time.Time{})
	}
}
