package packet

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
)

// Sessions is a Handler that tells the datagrams of different peers apart: it
// keeps a Session for each address that has sent something lately. One value may serve
// several sockets, as a Server with ReusePort has them: each has sessions of its own, and
// Handler is then called by several workers at a time, but for one socket by one. The
// fields must not change meanwhile, and the value must not be copied.
type Sessions struct {
	Base

	// Handler is told what happens to each session.
	Handler SessionHandler

	// Idle is how long a session lives after the last datagram from its peer. 0: a
	// minute.
	Idle time.Duration

	// CountSent has datagrams to the peer keep its session as well, however they are
	// sent: for relays, where either side may be silent. A server that sends unasked
	// would keep peers that have gone.
	CountSent bool

	// Max bounds the sessions there are at a time, of all sockets together. Datagrams
	// of further peers are dropped, and counted in Refused. 0: 65536.
	Max int

	tables  sync.Map // *Conn: *sessionTable, until the socket's OnClose
	live    atomic.Int64
	refused atomic.Uint64
}

// A SessionHandler is told what happens to a session, as a Handler is to a
// socket: an error that a method returns ends the session, and is given to OnClose; a
// panic ends the socket, and with it all of its sessions, each with an OnClose.
type SessionHandler interface {
	// OnOpen: a peer without a session has sent a datagram, which OnPacket is given
	// next. With an error it is dropped, the session ends, and OnClose is called.
	OnOpen(s *Session) error

	// OnPacket: a datagram has come from the peer.
	OnPacket(s *Session, p Packet) error

	// OnClose: the session has ended; the last call. err is nil after Close, matches
	// os.ErrDeadlineExceeded when the session was idle for Sessions.Idle, and
	// net.ErrClosed when the socket has ended, on which nothing can be sent then.
	OnClose(s *Session, err error)
}

// A Session is one peer of a socket. Its methods are for its handler, while a method
// of that runs.
type Session struct {
	peer  netip.AddrPort
	table *sessionTable
	value any
	last  time.Duration // when something last came, or was sent if that counts
	older *Session
	newer *Session
	over  bool
}

var _ Handler = (*Sessions)(nil)

const (
	defaultIdle = time.Minute
	defaultMax  = 65536
)

// Peer is the session's peer.
func (s *Session) Peer() netip.AddrPort { return s.peer }

// Conn is the socket.
func (s *Session) Conn() *Conn { return s.table.conn }

// Write queues a datagram to the peer, as Conn.WriteTo does.
func (s *Session) Write(p []byte) (int, error) {
	if err := s.table.conn.WriteTo(p, s.peer); err != nil {
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
func (s *Session) Close() { s.table.end(s, nil) }

// Len is the number of sessions, of all sockets. Any goroutine may ask.
func (m *Sessions) Len() int { return int(m.live.Load()) }

// Refused is the number of datagrams that were dropped for want of room. Any goroutine
// may ask.
func (m *Sessions) Refused() uint64 { return m.refused.Load() }

// Session is the session that a peer has on a socket, nil if there is none. It is for the
// handler of that socket's sessions, while a method of it runs.
func (m *Sessions) Session(c *Conn, peer netip.AddrPort) *Session {
	if t, ok := m.tables.Load(c); ok {
		return t.(*sessionTable).peers[peer]
	}
	return nil
}

// table is the socket's, which it makes if there is none.
func (m *Sessions) table(c *Conn) *sessionTable {
	if t, ok := m.tables.Load(c); ok {
		return t.(*sessionTable)
	}
	t := &sessionTable{owner: m, conn: c, peers: make(map[netip.AddrPort]*Session)}
	m.tables.Store(c, t)
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
	if err == nil {
		err = c.opError("close", netip.AddrPort{}, engine.ErrGone)
	}
	t.(*sessionTable).endAll(err)
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
