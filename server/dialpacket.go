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
	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// DialPacket makes a UDP socket that is connected to an address. h gets the datagrams that arrive
// from there. It waits until the name is resolved (see sched.Await). Nothing is sent, so it takes
// the first address to which there is a route. If it returns an error, h is not called.
//
// Dialer.Near and FastOpen have no effect. TLS and Proxy do not exist for datagrams: the error
// matches errors.ErrUnsupported.
func (d *Dialer) DialPacket(ctx context.Context, network, addr string, h PacketHandler) (PacketHandle, error) {
	return dialPacket(ctx, d, network, addr, d.attachPacket(h))
}

// DialPacketFuture is DialPacket as a future, for one socket. Its first poll starts the dial. A
// dropped future makes no socket. A Join that has the result and is abandoned, or fails, resets the
// socket (see sched.Undoer).
func (d *Dialer) DialPacketFuture(network, addr string, h PacketHandler) sched.Future[PacketHandle] {
	return &packetHandleDial{packetDial: packetDial[PacketHandle]{dialer: d, network: network, addr: addr, attach: d.attachPacket(h)}}
}

// A packetHandleDial is the future of a PacketHandle, which is no sched.Releaser.
type packetHandleDial struct {
	packetDial[PacketHandle]
	made PacketHandle // the result
}

// Poll returns the handle of the socket, or the error.
func (f *packetHandleDial) Poll(cx *sched.Context) (handle PacketHandle, err error) {
	f.made, err = f.packetDial.Poll(cx)
	return f.made, err
}

// Undo implements sched.Undoer: nobody takes the handle.
func (f *packetHandleDial) Undo() { _ = f.made.Abort() } // it may have ended

// A packetDial is a future that makes a connected socket and attaches a T to it. It may have to
// resolve the peer's name first.
type packetDial[T any] struct {
	dialer        *Dialer
	network, addr string
	attach        func(*conn.Group, *net.UDPConn) (T, error)

	ctx    context.Context // the Resolver gets its values; nil: none
	plan   packetPlan
	call   *sched.TimeoutFuture[[]netip.AddrPort] // nil: no name is being resolved
	cancel context.CancelFunc                     // with call
}

var (
	_ sched.Future[PacketHandle] = (*packetDial[PacketHandle])(nil)
	_ sched.Canceler             = (*packetDial[PacketHandle])(nil)
)

// Poll returns the handle of the socket, or the error.
func (f *packetDial[T]) Poll(cx *sched.Context) (T, error) {
	v, err := f.poll(cx)
	if err == sched.ErrPending {
		return v, err
	}
	return v, f.dialer.ended(f.network, f.addr, err)
}

func (f *packetDial[T]) poll(cx *sched.Context) (handle T, err error) {
	if f.call == nil {
		if f.plan, err = f.dialer.planPacket(f.network, f.addr); err != nil {
			return handle, err
		}
		if !f.plan.known {
			ctx := context.Background()
			if f.ctx != nil {
				ctx = context.WithoutCancel(f.ctx)
			}
			ctx, f.cancel = context.WithCancel(ctx)
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

// Cancel ends the resolution of the name.
func (f *packetDial[T]) Cancel() {
	if f.call != nil {
		f.cancel()
		f.call.Cancel()
	}
}

// dialPacketSocket is DialContext for UDP.
func (d *Dialer) dialPacketSocket(ctx context.Context, network, addr string) (*packet.Socket, error) {
	if sched.FromContext(ctx) == nil && ctx != nil { // a library may have passed a task's context to a goroutine
		ctx = sched.WithoutTask(ctx)
	}
	return dialPacket(ctx, d, network, addr, func(g *conn.Group, pc *net.UDPConn) (*packet.Socket, error) { return packet.ListenSocket(g, pc) })
}

// dialPacket is DialPacket and its siblings.
func dialPacket[T any](ctx context.Context, d *Dialer, network, addr string, attach func(*conn.Group, *net.UDPConn) (T, error)) (handle T, err error) {
	defer func() { err = d.ended(network, addr, err) }()
	if err := ctxcheck.Ended(ctx); err != nil { // an address that needs no resolution is not checked elsewhere
		return handle, err
	}
	if ctx == nil || sched.FromContext(ctx) != nil {
		return sched.Await(ctx, &packetDial[T]{dialer: d, network: network, addr: addr, attach: attach, ctx: sched.WithoutTask(ctx)})
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

// A packetPlan holds the settings of a socket to be made that are known without waiting.
type packetPlan struct {
	dialer *Dialer
	group  *conn.Group
	name   hostPort
	addrs  []netip.AddrPort
	known  bool          // addrs holds the resolved addresses
	limit  time.Duration // of the resolution
}

var errDatagrams = fmt.Errorf("server: datagrams are plaintext: use a Dialer without TLS and DialContext, or tcp: %w", errors.ErrUnsupported)

// planPacket checks the arguments and the Dialer.
func (d *Dialer) planPacket(network, addr string) (p packetPlan, err error) {
	p.dialer = d
	switch {
	case !isPacketNetwork(network):
		return p, fmt.Errorf("server: %w; streams have DialStream, DialHandler and DialContext", unknownNetwork(network))
	case d.TLS != nil:
		return p, errDatagrams
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

// resolve resolves the name. It may block.
func (p *packetPlan) resolve(ctx context.Context) ([]netip.AddrPort, error) {
	return p.name.resolve(withoutConnects(ctx), p.dialer.resolver(), p.dialer.local())
}

// resolveUntil resolves the name on a thread, and waits for it until ctx ends.
func (p *packetPlan) resolveUntil(ctx context.Context) ([]netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	outside, release := bubble.Context(ctx)
	defer release()
	return blocking.Do(ctx, p.dialer.threads(), func() ([]netip.AddrPort, error) {
		if bubble.In() {
			return p.resolve(ctx)
		}
		return p.resolve(outside)
	})
}

// connectPacket makes the socket and attaches it to the group. Connecting a datagram socket does
// not wait.
func connectPacket[T any](p packetPlan, attach func(*conn.Group, *net.UDPConn) (T, error)) (handle T, first error) {
	for _, a := range p.addrs {
		nd := net.Dialer{LocalAddr: p.dialer.LocalAddr, Control: p.dialer.control(false)}
		c, err := nd.Dial("udp", a.String())
		if err == nil {
			pc := c.(*net.UDPConn)
			defer func() { _ = pc.Close() }() // the group has a descriptor of its own
			return attach(p.group, pc)
		}
		if first == nil {
			first = err
		}
	}
	return handle, first
}
