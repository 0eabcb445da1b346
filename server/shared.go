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

// checkShared refuses settings that the given group has fixed already.
func (s *Server) checkShared() error {
	if s.On == nil {
		return nil
	}
	var bad []string
	for _, f := range []struct {
		name  string
		value any
	}{
		{"Backend", s.Backend}, {"Workers", s.Workers}, {"Tuning", s.Tuning},
		{"SlowTask", s.SlowTask}, {"Spares", s.Spares}, {"Events", s.Events},
		{"ConnConfig", s.ConnConfig}, {"Logger", s.Logger}, {"Tickers", s.Tickers},
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

// checkConn refuses settings of ConnConfig for which Server has its own fields.
func (s *Server) checkConn() error {
	var name, instead string
	switch {
	case s.ConnConfig.Reactor.Backend != "":
		name, instead = "Reactor.Backend", "Backend"
	case s.ConnConfig.Reactor.Coalesce != 0:
		name, instead = "Reactor.Coalesce", "Tuning.Coalesce"
	case s.ConnConfig.Logger != nil:
		name, instead = "Logger", "Logger"
	default:
		return nil
	}
	return fmt.Errorf("server: ConnConfig.%s is set; set Server.%s instead", name, instead)
}

// members are the connections and packet sockets of a server on a group that it shares.
type members struct {
	mu    sync.Mutex
	all   map[*member]bool
	phase phase
	left  chan struct{} // has an entry if a member has left since the last receive
}

// A phase is the state of the server's shutdown. It also applies to members that join later.
type phase int

const (
	serving phase = iota
	draining
	aborting
)

// A member is a connection or a packet socket.
type member struct{ drain, abort func() error }

// stay drains or aborts a new member, as the phase demands.
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

// enter begins a phase: it drains or aborts the present members. Later ones follow when they join.
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

// drain drains all members until ctx ends, and reports whether all have ended. The listeners have
// been told to close. A listener whose worker is busy may still bring connections. When all members
// have ended in order, the phase stays draining. A connection whose OnOpen has not been called
// joins late: it is drained as well, but drain does not wait for it. The error is ctx's, or nil if
// the workers have stopped.
func (m *members) drain(ctx context.Context, group *conn.Group, listeners map[*conn.Listener]net.Listener) (ended bool, err error) {
	m.enter(draining)
	ctx, release := bubble.Context(ctx)
	defer release()
	for l := range listeners {
		if late := l.Wait(ctx); late != nil && ctx.Err() != nil {
			err = late
		} // otherwise the workers have stopped
	}
	m.await(group, ctx.Done())
	if err == nil && m.len() == 0 {
		return true, nil
	}
	return false, ctx.Err()
}

// stuckAfter is how long the shutdown goes on while no member ends. It is counted in polls, as
// conn.Group.Stop does: no handler can return while the process is suspended.
const (
	stuckAfter = time.Second
	lookEvery  = stuckAfter / 50
)

// abort resets all members. It waits for as long as some end within stuckAfter.
func (m *members) abort(group *conn.Group) error {
	m.enter(aborting)
	look, stop := bubble.Tick(lookEvery)
	defer stop()
	least, unchanged := m.len(), time.Duration(0)
	stopped := group.Runtime().Done() // the end of the workers has ended the members
	for n := least; n > 0 && !isClosed(stopped); n = m.len() {
		if n < least {
			least, unchanged = n, 0
		}
		if unchanged >= stuckAfter {
			return stuckError(group, n)
		}
		select {
		case <-m.left:
		case <-look:
			unchanged += lookEvery
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

// of returns the handler for connections that are members. nil members: h itself.
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
	c.NotifyClose(func() { // the handler's own functions are called before leave
		c.NotifyClose(func() { n.members.leave(x) })
	})
	x.stay(p) // after inner has been called
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

// HandlerName returns the name of the inner handler for the log.
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
	m.mu.Lock() // the server is not stopping: attach holds its lock
	x.drain, x.abort = handle.Drain, handle.Abort
	m.mu.Unlock()
	return handle, nil
}
