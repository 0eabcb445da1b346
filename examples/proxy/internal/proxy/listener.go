package proxy

import (
	"context"
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
	"github.com/suiro-go/suiro/packet"
)

// A listener is where the proxy listens, from one configuration to the next.
type listener struct {
	at     config.Address // with the port that was got
	socket net.Listener   // its path goes with it, if it is a Unix socket
	accept *conn.Listener
	front  front
	silent atomic.Int64 // connections that belong to no route yet

	streams relay.Streams   // of tcp:// and unix://
	gateway gateway.Gateway // of http://

	bound   *net.UDPConn // closed once socketU has a copy
	packets relay.Packets
	socketU packet.Handle
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
	table     *route.Table
	door      *limit.Door
	silent    *atomic.Int64
	keepAlive time.Duration
}

// OnOpen is the last callback that it has for a connection.
func (f *front) OnOpen(c *conn.Conn) error {
	b := f.current.Load()
	e := b.door.Enter()
	if e == nil {
		route.LogRefused(c, route.BoundOfAll)
		c.Abort()
		return nil
	}
	c.NotifyClose(e.Leave)
	remote, refused := c.RemoteAddr(), ""
	switch {
	case !b.table.Any().Introduced() && !e.Identify(route.Source(remote)):
		refused = route.BoundOfSource
	case b.table.Full(e.Wait(b.silent)):
		refused = route.BoundOfRoute
	}
	if refused != "" {
		e.Arrive() // it is refused, and no junk
		route.LogRefused(c, refused)
		c.Abort()
		return nil
	}
	if _, ok := remote.(*net.TCPAddr); ok {
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: b.keepAlive, Interval: b.keepAlive, Count: probes})
	}
	c.SetValue(e)
	_ = c.SetHandler(b.handler)
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
	table   route.Table

	keepAlive time.Duration
}

// plan gathers the sockets of routes.
func plan(routes []*route.Route, keepAlive time.Duration) (all []*planned) {
	known := map[config.Socket]*planned{}
	for _, r := range routes {
		for i, a := range r.Listen {
			s := r.Sockets()[i]
			n := known[s]
			if n == nil {
				n = &planned{socket: s, address: a, keepAlive: keepAlive}
				known[s] = n
				all = append(all, n)
			}
			n.table.Add(r)
		}
	}
	return all
}

// bind opens the listeners that are new. All sockets are bound before the first one accepts,
// so a configuration that cannot be takes no connection. With an error nothing is open.
func (p *Proxy) bind(all []*planned) (fresh map[config.Socket]*listener, err error) {
	fresh = map[config.Socket]*listener{}
	defer func() {
		if err != nil {
			for _, l := range fresh {
				l.close()
				l.retire()
			}
		}
	}()
	for _, n := range all {
		if p.listeners[n.socket] != nil {
			continue
		}
		l := &listener{}
		if err := l.bind(n); err != nil {
			return fresh, fmt.Errorf("%v: %w", n.address, err)
		}
		fresh[n.socket] = l
	}
	for _, n := range all {
		if l := fresh[n.socket]; l != nil {
			if err := p.serve(l, n); err != nil {
				return fresh, fmt.Errorf("%v: %w", n.address, err)
			}
		}
	}
	return fresh, nil
}

// commit gives all listeners their part of the plan, and closes those that are not in it, which it
// returns.
func (p *Proxy) commit(all []*planned, fresh map[config.Socket]*listener) (closed []*listener) {
	p.order = p.order[:0]
	for _, n := range all {
		at := n.socket
		l := p.listeners[at]
		if l == nil {
			l = fresh[at]
		}
		p.follow(l, n)
		fresh[at] = l
		p.order = append(p.order, at)
		delete(p.listeners, at)
	}
	for _, l := range p.listeners {
		l.close()
		l.retire()
		closed = append(closed, l)
	}
	p.listeners = fresh
	return closed
}

func (l *listener) bind(n *planned) (err error) {
	if n.address.Scheme != "udp" {
		if l.socket, err = listenStream(n.address); err == nil {
			l.at = n.address.With(l.socket.Addr())
		}
		return err
	}
	local, err := net.ResolveUDPAddr("udp", n.address.Host)
	if err != nil {
		return err
	}
	if l.bound, err = net.ListenUDP("udp", local); err == nil {
		l.at = n.address.With(l.bound.LocalAddr())
	}
	return err
}

// serve lets the group accept from the socket, or receive.
func (p *Proxy) serve(l *listener, n *planned) (err error) {
	p.follow(l, n)
	if l.bound == nil {
		l.accept, err = p.group.Listen(l.socket, &l.front)
		return err
	}
	l.socketU, err = packet.Listen(p.group, l.bound, l.packets.Handler(n.table.Rest, &p.door.Budget))
	_ = l.bound.Close() // the group has a copy
	return err
}

// follow applies the plan to later connections, requests and datagrams.
func (p *Proxy) follow(l *listener, n *planned) {
	l.at.Scheme = n.address.Scheme
	var h conn.Handler
	switch n.address.Scheme {
	case "udp":
		l.packets.Route.Store(n.table.Rest)
		return
	case "http":
		l.streams.Follow(nil)
		h = l.gateway.Follow(n.table.Rest)
	default:
		l.gateway.Follow(nil)
		h = l.streams.Follow(&n.table)
	}
	l.front.current.Store(&behind{handler: h, table: &n.table, door: &p.door, silent: &l.silent, keepAlive: n.keepAlive})
}

func (l *listener) close() {
	switch {
	case l.accept != nil:
		_ = l.accept.Close()
		fallthrough
	case l.socket != nil:
		_ = l.socket.Close()
	case l.socketU != (packet.Handle{}):
		_ = l.socketU.Close()
	case l.bound != nil:
		_ = l.bound.Close()
	}
}

// closing is how long a reload waits for workers to close sockets. They may be busy, or stuck.
const closing = 10 * time.Second

// await waits until the addresses of closed listeners are free for the next reload. Only those of
// datagrams are not so already.
func (p *Proxy) await(closed []*listener) {
	ctx, cancel := context.WithTimeout(p.ending, closing)
	defer cancel()
	for _, l := range closed {
		if l.socketU == (packet.Handle{}) {
			continue
		}
		select {
		case <-l.packets.Closed():
		case <-ctx.Done():
		}
	}
}

// retire ends connections of a closed listener that wait for a request, or for their route.
func (l *listener) retire() {
	l.streams.Follow(nil)
	l.gateway.Follow(nil)
}

// closeListeners closes the listeners for the proxy's end. Those of datagrams close in the drain
// that follows: answers leave by them.
func (p *Proxy) closeListeners() {
	for _, l := range p.listeners {
		if l.socketU == (packet.Handle{}) {
			l.close()
		}
	}
	clear(p.listeners)
	p.order = nil // each of them is in listeners
	if p.admin != nil {
		_ = p.admin.Close()
	}
}
