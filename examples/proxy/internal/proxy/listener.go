package proxy

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/gateway"
	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
	"github.com/suiro-go/suiro/examples/proxy/internal/relay"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// A listener is where the proxy listens, from one configuration to the next.
type listener struct {
	at     config.Address // with the port that was got
	socket net.Listener   // its path goes with it, if it is a Unix socket
	accept *conn.Listener
	front  front
	silent atomic.Int64 // connections that belong to no route yet

	packets relay.Packets
	socketU conn.PacketHandle
}

// A front is the handler of accepted connections. It counts each of them, and then hands it to the
// handler that the current configuration has for it.
type front struct {
	conn.Base
	current atomic.Pointer[behind]
}

// behind is a listener's part of one configuration.
type behind struct {
	handler   conn.Handler
	table     *relay.Table
	door      *limit.Door
	silent    *atomic.Int64
	keepAlive time.Duration
}

// OnOpen is the last callback that it has for a connection.
func (f *front) OnOpen(c *conn.Conn) error {
	b := f.current.Load()
	e := b.door.Enter()
	if e == nil {
		c.Abort()
		return nil
	}
	c.NotifyClose(e.Leave)
	remote := c.RemoteAddr()
	if !b.table.Any().Introduced() && !e.Identify(route.Source(remote)) || b.table.Full(e.Wait(b.silent)) {
		e.Arrive() // it is refused, and no junk
		c.Abort()
		return nil
	}
	if _, ok := remote.(*net.TCPAddr); ok {
		_ = c.SetKeepAlive(net.KeepAliveConfig{Enable: true, Idle: b.keepAlive, Interval: b.keepAlive, Count: probes})
	}
	c.SetValue(e)
	c.SetHandler(b.handler)
	return b.handler.OnOpen(c)
}

// probes is how many probes without an answer end a connection.
const probes = 9

// OnData is not called.
func (f *front) OnData(*conn.Conn) error { return nil }

// planned is what the routes say of one socket.
type planned struct {
	socket  config.Socket
	address config.Address
	table   relay.Table
}

// plan gathers the sockets of routes.
func plan(routes []*route.Route) (all []*planned) {
	known := map[config.Socket]*planned{}
	for _, r := range routes {
		for i, a := range r.Listen {
			s := r.Sockets()[i]
			n := known[s]
			if n == nil {
				n = &planned{socket: s, address: a}
				known[s] = n
				all = append(all, n)
			}
			n.table.Add(r)
		}
	}
	return all
}

// listen opens what is new, has it all follow the plan, and closes what is not in it. If
// anything cannot be opened nothing has changed.
func (p *Proxy) listen(all []*planned) error {
	fresh := map[config.Socket]*listener{}
	for _, n := range all {
		at := n.socket
		if p.listeners[at] != nil {
			continue
		}
		l, err := p.open(n)
		if err != nil {
			for _, l := range fresh {
				l.close()
			}
			return err
		}
		fresh[at] = l
	}
	wanted := map[config.Socket]*listener{}
	p.order = p.order[:0]
	for _, n := range all {
		at := n.socket
		l := p.listeners[at]
		if l == nil {
			l = fresh[at]
		}
		p.follow(l, n)
		wanted[at] = l
		p.order = append(p.order, at)
		delete(p.listeners, at)
	}
	p.closeListeners()
	p.listeners = wanted
	return nil
}

func (p *Proxy) open(n *planned) (l *listener, err error) {
	l = &listener{}
	p.follow(l, n)
	if n.address.Scheme == "udp" {
		return l, l.openPackets(p.group, n)
	}
	if l.socket, err = net.Listen(n.address.Network(), n.address.Host); err != nil {
		return nil, fmt.Errorf("%v: %w", n.address, err)
	}
	if l.accept, err = p.group.Listen(l.socket, &l.front); err != nil {
		_ = l.socket.Close()
		return nil, fmt.Errorf("%v: %w", n.address, err)
	}
	l.at = n.address.With(l.socket.Addr())
	return l, nil
}

func (l *listener) openPackets(g *conn.Group, n *planned) error {
	local, err := net.ResolveUDPAddr("udp", n.address.Host)
	if err != nil {
		return err
	}
	pc, err := net.ListenUDP("udp", local)
	if err != nil {
		return err
	}
	defer pc.Close() // the group has a copy
	l.at = n.address.With(pc.LocalAddr())
	l.socketU, err = g.ListenPacket(pc, l.packets.Handler(n.table.Rest))
	return err
}

// follow has what comes from now on be treated as the plan says.
func (p *Proxy) follow(l *listener, n *planned) {
	l.at.Scheme = n.address.Scheme
	var h conn.Handler
	switch n.address.Scheme {
	case "udp":
		l.packets.Route.Store(n.table.Rest)
		return
	case "http":
		h = gateway.New(n.table.Rest)
	default:
		h = relay.Streams(&n.table)
	}
	l.front.current.Store(&behind{handler: h, table: &n.table, door: &p.door, silent: &l.silent, keepAlive: p.keepAlive})
}

func (l *listener) close() {
	if l.accept == nil {
		_ = l.socketU.Close()
		return
	}
	_ = l.accept.Close()
	_ = l.socket.Close()
}

func (p *Proxy) closeListeners() {
	for _, l := range p.listeners {
		l.close()
	}
	clear(p.listeners)
	if p.ended && p.admin != nil {
		_ = p.admin.Close()
	}
}
