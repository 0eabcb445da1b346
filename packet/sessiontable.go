package packet

import (
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// A sessionTable has the sessions of one socket. Only the socket's task uses it. The sessions are
// listed in the order of their last use. So a search for expired sessions does not visit the
// others.
type sessionTable struct {
	owner  *Sessions
	conn   *Conn
	peers  map[netip.AddrPort]*Session // the one opened last; its others follow it
	oldest *Session                    // idle for the longest time
	newest *Session
}

func (t *sessionTable) receive(batch []Packet) {
	now := t.conn.group.RT.Now()
	t.expire(now) // first, so that a datagram does not revive a session that expired before it arrived
	for _, p := range batch {
		if t.conn.is(closing | broken) { // a handler has closed the socket
			return
		}
		local := netip.Addr{}
		if t.conn.answers.on {
			local = p.source()
		}
		s := t.peers[p.From]
		for s != nil && s.local != local {
			s = s.other
		}
		if s == nil {
			if s = t.open(p.From, local, now); s == nil {
				continue
			}
		}
		t.touch(s, now)
		if err := t.owner.Handler.OnPacket(s, p); err != nil {
			t.fail(s, err)
		}
	}
	t.arm()
}

// sent is called for each queued datagram if CountSent is set.
// If the source is unknown, it counts for all sessions of the peer.
func (t *sessionTable) sent(from netip.Addr, to netip.AddrPort) {
	s := t.newest
	if s == nil || s.peer != to || s.local != from || t.conn.answers.on && !from.IsValid() {
		s = t.peers[to] // but mostly the datagram answers the newest session's
	}
	for ; s != nil; s = s.other {
		if s.local == from || !from.IsValid() {
			t.touch(s, t.conn.group.RT.Now())
		}
	}
}

func (t *sessionTable) open(peer netip.AddrPort, local netip.Addr, now time.Duration) *Session {
	if !t.owner.admit() {
		return nil
	}
	s := &Session{peer: peer, local: local, other: t.peers[peer], table: t, last: now}
	t.peers[peer] = s
	t.link(s)
	if err := t.owner.Handler.OnOpen(s); err != nil {
		t.fail(s, err)
	}
	if s.over || t.conn.is(closing|broken) {
		return nil
	}
	return s
}

// touch makes a session the newest.
func (t *sessionTable) touch(s *Session, now time.Duration) {
	if s.over {
		return
	}
	s.last = max(now, t.newest.last) // now may be the time at which a batch began
	if t.newest != s {
		t.unlink(s)
		t.link(s)
	}
}

func (t *sessionTable) link(s *Session) {
	s.older, s.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = s
	} else {
		t.oldest = s
	}
	t.newest = s
}

func (t *sessionTable) unlink(s *Session) {
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		t.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		t.newest = s.older
	}
	s.older, s.newer = nil, nil
}

// fail ends a session whose handler returned an error, and logs the error.
func (t *sessionTable) fail(s *Session, err error) {
	t.conn.group.HandlerFailed(err, t.owner.Handler, s.over, slog.Any("remote", s.peer))
	t.end(s, err)
}

func (t *sessionTable) end(s *Session, err error) {
	if s.over {
		return
	}
	s.over = true
	t.unlink(s)
	t.forget(s)
	t.owner.live.Add(-1)
	t.owner.Handler.OnClose(s, err)
}

// forget removes a session from those of its peer.
func (t *sessionTable) forget(s *Session) {
	first := t.peers[s.peer]
	switch {
	case first != s:
		for first.other != s {
			first = first.other
		}
		first.other = s.other
	case s.other != nil:
		t.peers[s.peer] = s.other
	default:
		delete(t.peers, s.peer)
	}
}

// endAll ends the sessions of a socket that has ended. A panic in one OnClose is logged. OnClose is
// called for all other sessions, also after a panic or a runtime.Goexit.
func (t *sessionTable) endAll(err error) {
	defer func() {
		if t.oldest != nil { // an OnClose called runtime.Goexit
			t.endAll(err)
		}
	}()
	for t.oldest != nil {
		t.conn.call(func() { t.end(t.oldest, err) })
	}
}

// abandon forgets the sessions of a socket whose workers have stopped, so that they no longer count
// for Max. OnClose is not called. The waits for a Peer end.
func (t *sessionTable) abandon() {
	if !t.owner.tables.CompareAndDelete(t.conn, t) {
		return // OnClose has ended them
	}
	for s := t.oldest; s != nil; s = s.newer {
		t.owner.live.Add(-1)
		if p, ok := s.value.(*Peer); ok {
			p.abandon()
		}
	}
}

// until returns the time at which a session expires if it is not used before.
func (t *sessionTable) until(s *Session) time.Duration { return saturate.Add(s.last, t.owner.idle()) }

func (t *sessionTable) expire(now time.Duration) {
	for t.oldest != nil && now >= t.until(t.oldest) {
		if t.keptBySends(t.oldest) {
			continue
		}
		t.end(t.oldest, t.conn.opError("idle", t.oldest.peer, os.ErrDeadlineExceeded))
	}
}

// arm sets the timer to the time at which the next session may expire.
func (t *sessionTable) arm() {
	if t.oldest != nil {
		t.conn.setTimer(t.until(t.oldest))
	} else {
		t.conn.setTimer(0)
	}
}

// keptBySends makes a session the newest if something was sent to its peer since it was last used.
func (t *sessionTable) keptBySends(s *Session) bool {
	at := time.Duration(s.sent.Load())
	if at <= s.last {
		return false
	}
	t.touch(s, at)
	return true
}
