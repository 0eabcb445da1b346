package server

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

// A Resolver resolves names. A *net.Resolver is one. Its methods are called from several goroutines
// at once, and may block. They should return when ctx ends.
type Resolver interface {
	// LookupNetIP returns the addresses of a host, the best first (RFC 6724). network
	// is "ip", "ip4" or "ip6".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)

	// LookupPort returns the port of a service. network is "tcp" or "udp", or one of them followed
	// by 4 or 6.
	LookupPort(ctx context.Context, network, service string) (int, error)
}

var _ Resolver = (*net.Resolver)(nil)

func (d *Dialer) resolver() Resolver {
	if d.Resolver == nil {
		return net.DefaultResolver
	}
	return d.Resolver
}

// A hostPort is an address as text, split into host and port.
type hostPort struct {
	network    string
	host, port string
}

func parse(network, addr string) (n hostPort, err error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
	default:
		return n, unknownNetwork(network)
	}
	n.network = network
	n.host, n.port, err = net.SplitHostPort(addr)
	return n, err
}

// fits reports whether ip is of a family of the network, and whether a socket bound to local can
// reach it. An invalid local address sets no bound, and an unspecified one is of both families.
func (n hostPort) fits(ip, local netip.Addr) bool {
	switch {
	case strings.HasSuffix(n.network, "4") && (!ip.Is4() || local.Is6()), strings.HasSuffix(n.network, "6") && ip.Is4():
		return false
	default:
		return !local.IsValid() || local.IsUnspecified() || local.Is4() == ip.Is4()
	}
}

// literal returns the host's address if the host is a literal IP address. An empty host or an
// unspecified address is this machine, in the family that net.Dialer takes.
func (n hostPort) literal(local netip.Addr) (ip netip.Addr, ok bool) {
	if n.host != "" {
		var err error
		if ip, err = netip.ParseAddr(n.host); err != nil {
			return ip, false
		}
		ip = ip.Unmap()
	}
	wide := ip.Is6() || local.Is6()
	switch {
	case ip.IsValid() && !ip.IsUnspecified():
		return ip, true
	case strings.HasSuffix(n.network, "6"):
		wide = !ip.Is4()
	case strings.HasSuffix(n.network, "4"):
		wide = false
	case local.IsValid() && !local.IsUnspecified():
		wide = local.Is6()
	}
	if wide {
		return netip.IPv6Loopback(), true
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
}

// number returns the port if it is a number.
func (n hostPort) number() (port uint16, ok bool, err error) {
	switch v, perr := strconv.Atoi(n.port); {
	case n.port == "":
		return 0, true, nil
	case perr != nil:
		return 0, false, nil //nolint:nilerr // the port is a name, to be looked up
	case v < 0 || v > 65535:
		return 0, false, &net.AddrError{Err: "invalid port; use 0 to 65535", Addr: n.port}
	default:
		return uint16(v), true, nil
	}
}

// known returns the addresses if no query is needed for them.
func (n hostPort) known(local netip.Addr) (addrs []netip.AddrPort, ok bool, err error) {
	port, ok, err := n.number()
	if !ok {
		return nil, false, err
	}
	ip, ok := n.literal(local)
	switch {
	case !ok:
		return nil, false, nil
	case !n.fits(ip, local):
		return nil, false, n.unsuitable()
	}
	return []netip.AddrPort{netip.AddrPortFrom(ip, port)}, true, nil
}

func (n hostPort) unsuitable() error {
	return &net.AddrError{Err: "no suitable address for the network " + n.network + " and the local address", Addr: n.host}
}

// resolve queries the resolver for the host and the port that are not literal. It may block.
func (n hostPort) resolve(ctx context.Context, r Resolver, local netip.Addr) ([]netip.AddrPort, error) {
	port, ok, err := n.number()
	if err == nil && !ok {
		var p int
		p, err = r.LookupPort(ctx, n.network, n.port)
		port = uint16(p)
	}
	if err != nil {
		return nil, err
	}
	ips := []netip.Addr{}
	if ip, ok := n.literal(local); ok {
		ips = append(ips, ip)
	} else {
		network := "ip"
		if v := n.network[len(n.network)-1]; v == '4' || v == '6' {
			network += string(v)
		}
		if ips, err = r.LookupNetIP(ctx, network, n.host); err != nil {
			return nil, err
		}
	}
	var addrs []netip.AddrPort
	for _, ip := range ips {
		if ip = ip.Unmap(); n.fits(ip, local) {
			addrs = append(addrs, netip.AddrPortFrom(ip, port))
		}
	}
	if len(addrs) == 0 {
		return nil, n.unsuitable()
	}
	return interleave(addrs), nil
}

// interleave alternates the families of the addresses, beginning with that of the first, and
// removes duplicates. This is RFC 8305, section 4, with a First Address Family Count of 1.
func interleave(addrs []netip.AddrPort) []netip.AddrPort {
	var families [2][]netip.AddrPort // the family of the first address, and the other family
	for _, a := range addrs {
		f := &families[0]
		if a.Addr().Is4() != addrs[0].Addr().Is4() {
			f = &families[1]
		}
		if !slices.Contains(*f, a) {
			*f = append(*f, a)
		}
	}
	mixed := make([]netip.AddrPort, 0, len(addrs))
	for i := range max(len(families[0]), len(families[1])) {
		for _, f := range families {
			if i < len(f) {
				mixed = append(mixed, f[i])
			}
		}
	}
	return mixed
}

func tcpAddrs(all []netip.AddrPort) []net.Addr {
	addrs := make([]net.Addr, len(all))
	for i, a := range all {
		addrs[i] = net.TCPAddrFromAddrPort(a)
	}
	return addrs
}

// local returns the IP address of LocalAddr, or an invalid one if any will do.
func (d *Dialer) local() netip.Addr {
	var ip netip.Addr
	switch a := d.LocalAddr.(type) {
	case *net.TCPAddr:
		ip = a.AddrPort().Addr()
	case *net.UDPAddr:
		ip = a.AddrPort().Addr()
	}
	return ip.Unmap()
}

// find returns DialConfig.Find for a name. A task waits for the call and reports the result, so
// that it also reports a call that panics or that the pool refuses. The context ends with the dial.
func (d *Dialer) find(ctx context.Context, rt *sched.Runtime, name hostPort) func(func([]net.Addr, error)) func() {
	resolver, threads, local := d.resolver(), d.threads(), d.local()
	ctx = withoutConnects(ctx)
	return func(found func([]net.Addr, error)) func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		call := blocking.Submit(threads, func() ([]netip.AddrPort, error) { return name.resolve(ctx, resolver, local) })
		sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			addrs, err := call.Poll(cx)
			if err != sched.ErrPending {
				found(tcpAddrs(addrs), err)
				err = nil
			}
			return struct{}{}, err
		})).Detach()
		return func() {
			cancel()
			call.Abort()
		}
	}
}
