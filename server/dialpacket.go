package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// DialPacket makes a UDP socket that is connected to an address, and has h told of what
// comes from there; in a stackful task, which awaits that the name is resolved. Nothing
// is sent, so it takes the first address to which there is a route. With an error h is
// not called. Dialer.Near and FastOpen do not count; TLS and Proxy, which datagrams do not
// have, are errors that match errors.ErrUnsupported.
func (d *Dialer) DialPacket(cx *sched.Context, network, addr string, h PacketHandler) (PacketHandle, error) {
	return sched.Await(cx, d.DialPacketFuture(network, addr, h))
}

// DialPacketHandler is DialPacket for ordinary goroutines, until ctx ends.
func (d *Dialer) DialPacketHandler(ctx context.Context, network, addr string, h PacketHandler) (PacketHandle, error) {
	return dialPacketContext(ctx, d, network, addr, d.attachPacket(h))
}

// DialPacketFuture is DialPacket as a future, for one socket: its first poll starts it.
// Abandoned, it makes none.
func (d *Dialer) DialPacketFuture(network, addr string, h PacketHandler) *DialPacketFuture {
	return &DialPacketFuture{dialer: d, network: network, addr: addr, attach: d.attachPacket(h)}
}

// A DialPacketFuture is a socket for whose peer a name may have to be resolved.
type DialPacketFuture struct {
	dialer        *Dialer
	network, addr string
	attach        func(*conn.Group, *net.UDPConn) (PacketHandle, error)

	plan   packetPlan
	call   *sched.TimeoutFuture[[]netip.AddrPort] // nil: it is not being resolved
	cancel context.CancelFunc                     // with call
}

var (
	_ sched.Future[PacketHandle] = (*DialPacketFuture)(nil)
	_ sched.Canceler             = (*DialPacketFuture)(nil)
)

// Poll is the handle of the socket, or the error.
func (f *DialPacketFuture) Poll(cx *sched.Context) (PacketHandle, error) {
	handle, err := f.poll(cx)
	if err == sched.ErrPending {
		return handle, err
	}
	return handle, f.dialer.ended(f.network, f.addr, err)
}

func (f *DialPacketFuture) poll(cx *sched.Context) (handle PacketHandle, err error) {
	if f.call == nil {
		if f.plan, err = f.dialer.planPacket(f.network, f.addr); err != nil {
			return handle, err
		}
		if !f.plan.known {
			var ctx context.Context
			ctx, f.cancel = context.WithCancel(context.Background())
			plan := f.plan // the thread may outlive the call
			f.call = sched.Timeout(plan.limit, blocking.DoFuture(f.dialer.threads(), func() ([]netip.AddrPort, error) {
				return plan.resolve(ctx)
			}))
		}
	}
	if f.call != nil {
		if f.plan.addrs, err = f.call.Poll(cx); err == sched.ErrPending {
			return handle, err
		}
		f.cancel()
		f.call = nil
		if err != nil {
			return handle, err
		}
	}
	return connectPacket(f.plan, f.attach)
}

// Cancel ends the resolving.
func (f *DialPacketFuture) Cancel() {
	if f.call != nil {
		f.cancel()
		f.call.Cancel()
	}
}

// dialPacketSocket is DialContext for UDP.
func (d *Dialer) dialPacketSocket(ctx context.Context, network, addr string) (*packet.Socket, error) {
	return dialPacketContext(ctx, d, network, addr, func(g *conn.Group, pc *net.UDPConn) (*packet.Socket, error) { return packet.Open(g, pc) })
}

// dialPacketContext is DialPacket for ordinary goroutines, until ctx ends.
func dialPacketContext[T any](ctx context.Context, d *Dialer, network, addr string, attach func(*conn.Group, *net.UDPConn) (T, error)) (handle T, err error) {
	defer func() { err = d.ended(network, addr, err) }()
	if err := ctx.Err(); err != nil { // of an address that needs no resolving nothing else would look at it
		return handle, err
	}
	plan, err := d.planPacket(network, addr)
	if err == nil && !plan.known {
		plan.addrs, err = plan.resolveUntil(ctx)
	}
	if err != nil {
		return handle, err
	}
	return connectPacket(plan, attach)
}

func (d *Dialer) attachPacket(h PacketHandler) func(*conn.Group, *net.UDPConn) (PacketHandle, error) {
	return func(g *conn.Group, pc *net.UDPConn) (PacketHandle, error) { return packet.Listen(g, pc, h) }
}

// A packetPlan is what is known of a socket to be made without waiting for anything.
type packetPlan struct {
	dialer *Dialer
	group  *conn.Group
	name   hostPort
	addrs  []netip.AddrPort
	known  bool          // addrs is what the name means
	limit  time.Duration // for finding that out
}

// planPacket checks the arguments and the Dialer.
func (d *Dialer) planPacket(network, addr string) (p packetPlan, err error) {
	p.dialer = d
	switch {
	case !isPacketNetwork(network):
		return p, unknownNetwork(network)
	case d.TLS != nil:
		return p, fmt.Errorf("server: Dialer.TLS is set, and datagrams are plaintext: use a Dialer without it: %w", errors.ErrUnsupported)
	case d.Proxy != nil:
		return p, fmt.Errorf("server: Dialer.Proxy is set, and datagrams have no such header: use a Dialer without it: %w", errors.ErrUnsupported)
	}
	if p.group, err = d.group(); err != nil {
		return p, err
	}
	if p.limit, err = d.remaining(); err != nil {
		return p, err
	}
	if p.limit <= 0 {
		p.limit = math.MaxInt64
	}
	if p.name, err = parse(network, addr); err != nil {
		return p, err
	}
	p.addrs, p.known, err = p.name.known(d.local())
	return p, err
}

// resolve may block.
func (p *packetPlan) resolve(ctx context.Context) ([]netip.AddrPort, error) {
	return p.name.resolve(withoutConnects(ctx), p.dialer.resolver(), p.dialer.local())
}

// resolveUntil has a thread resolve, and waits for it until ctx ends.
func (p *packetPlan) resolveUntil(ctx context.Context) ([]netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	outside, release := bubble.Context(ctx)
	defer release()
	return blocking.DoContext(ctx, p.dialer.threads(), func() ([]netip.AddrPort, error) {
		if bubble.In() {
			return p.resolve(ctx)
		}
		return p.resolve(outside)
	})
}

// connectPacket makes the socket and attaches it to the group. Connecting takes no time, and
// makes no goroutine wait.
func connectPacket[T any](p packetPlan, attach func(*conn.Group, *net.UDPConn) (T, error)) (handle T, first error) {
	for _, a := range p.addrs {
		nd := net.Dialer{LocalAddr: p.dialer.LocalAddr, Control: p.dialer.control(false)}
		c, err := nd.Dial("udp", a.String())
		if err == nil {
			pc := c.(*net.UDPConn)
			defer pc.Close() // the group has a descriptor of its own
			return attach(p.group, pc)
		}
		if first == nil {
			first = err
		}
	}
	return handle, first
}
