package server

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
)

// checkShared refuses what the group that is given has decided already.
func (s *Server) checkShared() error {
	if s.On == nil {
		return nil
	}
	var bad []string
	for _, f := range []struct {
		name  string
		value any
	}{
		{"Backend", s.Backend}, {"Workers", s.Workers}, {"Hold", s.Hold}, {"BusyPoll", s.BusyPoll},
		{"Coalesce", s.Coalesce}, {"Conn", s.Conn}, {"Logger", s.Logger}, {"Tickers", s.Tickers},
	} {
		if !reflect.ValueOf(f.value).IsZero() {
			bad = append(bad, f.name)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("server: On and %s are both set; give those to the Group", strings.Join(bad, ", "))
	}
	return nil
}

// members are what a server has on a group that others use as well.
type members struct {
	mu    sync.Mutex
	all   map[*member]bool
	phase phase
	left  chan struct{} // has room for one: some have left since it was received from
}

// A phase is how far the server's end is; what joins later is treated so, too.
type phase int

const (
	serving phase = iota
	draining
	aborting
)

// A member is a connection or a packet socket.
type member struct{ drain, abort func() error }

// stay has a new member treated as the phase asks.
func (m *member) stay(p phase) {
	switch p {
	case draining:
		_ = m.drain()
	case aborting:
		_ = m.abort()
	}
}

func newMembers() *members { return &members{all: map[*member]bool{}, left: bubble.Chan[struct{}](1)} }

func (m *members) join(x *member) phase {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[x] = true
	return m.phase
}

func (m *members) leave(x *member) {
	m.mu.Lock()
	delete(m.all, x)
	m.mu.Unlock()
	select {
	case m.left <- struct{}{}:
	default:
	}
}

func (m *members) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all)
}

// enter begins a phase: who has joined is told now, the others when they join.
func (m *members) enter(p phase) {
	m.mu.Lock()
	m.phase = p
	all := make([]*member, 0, len(m.all))
	for x := range m.all {
		all = append(all, x)
	}
	m.mu.Unlock()
	for _, x := range all {
		x.stay(p)
	}
}

// end ends all members, in order until ctx ends and by resets then. The listeners have been told
// to close; one whose worker is busy may still bring connections. When all have ended in order,
// the phase stays draining: a connection whose OnOpen has not been called joins late, and is
// drained as well, but not waited for.
func (m *members) end(ctx context.Context, group *conn.Group, listeners map[*conn.Listener]net.Listener) error {
	m.enter(draining)
	ctx, release := bubble.Context(ctx)
	defer release()
	var err error
	for l := range listeners {
		if late := l.Wait(ctx); late != nil && ctx.Err() != nil {
			err = late
		} // else the workers have stopped
	}
	m.await(group, ctx.Done())
	if err == nil && m.len() == 0 {
		return nil
	}
	err = ctx.Err()
	if stuck := m.abort(group); stuck != nil && err != nil {
		return fmt.Errorf("server: %w; %w", err, stuck)
	} else if stuck != nil {
		return fmt.Errorf("server: %w", stuck)
	}
	return err
}

// stuckAfter is how long nothing may have ended. As for conn.Group.Stop, it is counted in looks,
// since no handler can return while the process stands still.
const (
	stuckAfter = time.Second
	lookEvery  = stuckAfter / 50
)

// abort resets all members. It waits for as long as some end within stuckAfter.
func (m *members) abort(group *conn.Group) error {
	m.enter(aborting)
	look, stop := bubble.Tick(lookEvery)
	defer stop()
	least, quiet := m.len(), time.Duration(0)
	stopped := group.Runtime().Done() // which has ended them
	for n := least; n > 0 && !isClosed(stopped); n = m.len() {
		if n < least {
			least, quiet = n, 0
		}
		if quiet >= stuckAfter {
			return stuckError(group, n)
		}
		select {
		case <-m.left:
		case <-look:
			quiet += lookEvery
		case <-stopped:
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await waits until no member is left, or done is closed.
func (m *members) await(group *conn.Group, done <-chan struct{}) {
	for m.len() > 0 {
		select {
		case <-m.left:
		case <-done:
			return
		case <-group.Runtime().Done():
			return
		}
	}
}

func stuckError(group *conn.Group, n int) error {
	err := fmt.Errorf("%w: connections that have not ended: %d", conn.ErrStuck, n)
	for _, b := range group.Runtime().Busy(stuckAfter / 2) {
		err = fmt.Errorf("%w, worker %d is in a task for %v", err, b.Worker, b.For.Round(time.Millisecond))
	}
	return err
}

// of is the handler of connections that are members; nil members: h itself.
func (m *members) of(h Handler) Handler {
	if m == nil {
		return h
	}
	return &newcomer{inner: h, members: m}
}

// A newcomer is the handler of a connection until it is open.
type newcomer struct {
	conn.Base
	inner   Handler
	members *members
}

func (n *newcomer) OnOpen(c *Conn) error {
	x := &member{c.Handle().Drain, c.Handle().Abort}
	p := n.members.join(x)
	c.NotifyClose(func() { // the handler's own functions come before leave
		c.NotifyClose(func() { n.members.leave(x) })
	})
	x.stay(p) // once this has returned
	_ = c.SetHandler(n.inner)
	return n.inner.OnOpen(c)
}

// OnData is never called: inner is the handler by then.
func (n *newcomer) OnData(*Conn) error { return nil }

// A memberSocket is the handler of a packet socket that is a member.
type memberSocket struct {
	PacketHandler
	leave func()
}

// HandlerName is what the log calls the handler: the name of the one within.
func (m *memberSocket) HandlerName() string {
	if n, ok := m.PacketHandler.(interface{ HandlerName() string }); ok {
		return n.HandlerName()
	}
	return fmt.Sprintf("%T", m.PacketHandler)
}

// OnClose implements PacketHandler.
func (m *memberSocket) OnClose(c *PacketConn, err error) {
	defer m.leave()
	m.PacketHandler.OnClose(c, err)
}

// listenPacket serves a socket as a member, if the group is shared.
func (s *Server) listenPacket(listen func(PacketHandler) (PacketHandle, error)) (PacketHandle, error) {
	m := s.members
	if m == nil {
		return listen(s.Packets)
	}
	nothing := func() error { return nil }
	x := &member{nothing, nothing}
	m.join(x)
	handle, err := listen(&memberSocket{s.Packets, func() { m.leave(x) }})
	if err != nil {
		m.leave(x)
		return handle, err
	}
	m.mu.Lock() // the server is not stopping: attach has its lock
	x.drain, x.abort = handle.Drain, handle.Abort
	m.mu.Unlock()
	return handle, nil
}
