package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A lookUp resolves a name. It may block.
type lookUp func(context.Context) ([]netip.AddrPort, error)

// A waiter has a name resolved where that may block, and waits for it; for limit, if that
// is above 0.
type waiter func(limit time.Duration, look lookUp) ([]netip.AddrPort, error)

// Dial makes a UDP socket that is connected to an address, and has h told of what
// comes from there; in a stackful task, which awaits that the name is resolved. Nothing
// is sent, so it takes the first address to which there is a route. With an error h is
// not called. Dialer.Near and FastOpen do not count; TLS and Proxy, which datagrams do not
// have, are errors that match errors.ErrUnsupported.
func (d *Dialer) DialPacket(cx *sched.Context, network, addr string, h PacketHandler) (PacketHandle, error) {
	wait := func(limit time.Duration, look lookUp) ([]netip.AddrPort, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		call := blocking.DoFuture(d.threads(), func() ([]netip.AddrPort, error) { return look(ctx) })
		if limit > 0 {
			return sched.Await(cx, sched.Timeout(limit, call))
		}
		return sched.Await(cx, call)
	}
	return dialPacket(d, network, addr, wait, d.attachPacket(h))
}

// DialPacketHandler is Dial for ordinary goroutines, until ctx ends.
func (d *Dialer) DialPacketHandler(ctx context.Context, network, addr string, h PacketHandler) (PacketHandle, error) {
	return dialPacketContext(ctx, d, network, addr, d.attachPacket(h))
}

// dialPacketSocket is DialContext for UDP.
func (d *Dialer) dialPacketSocket(ctx context.Context, network, addr string) (*packet.Socket, error) {
	return dialPacketContext(ctx, d, network, addr, func(g *conn.Group, pc *net.UDPConn) (*packet.Socket, error) { return packet.Open(g, pc) })
}

// dialPacketContext is dialPacket for ordinary goroutines. Of an address that needs no resolving
// nothing else would look at ctx.
func dialPacketContext[T any](ctx context.Context, d *Dialer, network, addr string, attach func(*conn.Group, *net.UDPConn) (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, d.ended(network, addr, err)
	}
	return dialPacket(d, network, addr, d.waitUntil(ctx), attach)
}

func (d *Dialer) attachPacket(h PacketHandler) func(*conn.Group, *net.UDPConn) (PacketHandle, error) {
	return func(g *conn.Group, pc *net.UDPConn) (PacketHandle, error) { return packet.Listen(g, pc, h) }
}

func (d *Dialer) waitUntil(ctx context.Context) waiter {
	return func(limit time.Duration, look lookUp) (addrs []netip.AddrPort, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if limit > 0 {
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		ctx, release := bubble.Context(ctx)
		defer release()
		d.outside(func() {
			addrs, err = blocking.DoContext(ctx, d.threads(), func() ([]netip.AddrPort, error) { return look(ctx) })
		})
		return addrs, err
	}
}

// dialPacket makes the socket and attaches it to the group.
func dialPacket[T any](d *Dialer, network, addr string, wait waiter, attach func(*conn.Group, *net.UDPConn) (T, error)) (handle T, err error) {
	defer func() { err = d.ended(network, addr, err) }()
	if !isPacketNetwork(network) {
		return handle, unknownNetwork(network)
	}
	switch {
	case d.TLS != nil:
		return handle, fmt.Errorf("server: Dialer.TLS is set, and datagrams are plaintext: use a Dialer without it: %w", errors.ErrUnsupported)
	case d.Proxy != nil:
		return handle, fmt.Errorf("server: Dialer.Proxy is set, and datagrams have no such header: use a Dialer without it: %w", errors.ErrUnsupported)
	}
	g, err := d.group()
	if err != nil {
		return handle, err
	}
	limit, err := d.remaining()
	if err != nil {
		return handle, err
	}
	name, err := parse(network, addr)
	if err != nil {
		return handle, err
	}
	addrs, known, err := name.known(d.local())
	if err == nil && !known {
		addrs, err = wait(limit, func(ctx context.Context) ([]netip.AddrPort, error) {
			return name.resolve(withoutConnects(ctx), d.resolver(), d.local())
		})
	}
	if err != nil {
		return handle, err
	}
	var first error
	for _, a := range addrs {
		// Connecting takes no time, and makes no goroutine wait.
		nd := net.Dialer{LocalAddr: d.LocalAddr, Control: d.control(false)}
		c, err := nd.Dial("udp", a.String())
		if err == nil {
			pc := c.(*net.UDPConn)
			defer pc.Close() // the group has a descriptor of its own
			return attach(g, pc)
		}
		if first == nil {
			first = err
		}
	}
	return handle, first
}
