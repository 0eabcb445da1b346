package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// A Dialer connects to others by name. The zero value is useful. It may be copied, and
// used by any number of goroutines and handlers at once while it does not change.
//
// Networks are "tcp", "tcp4", "tcp6" and "unix", and for what has Packet in its name, and
// DialContext, "udp", "udp4" and "udp6". Addresses are as those of net.Dial: "host:port",
// where the host may be a name or an IP address, and nothing means this machine; and
// the port a number or the name of a service. Names are resolved anew for each
// connection: nothing is kept.
//
// With several addresses for a name the connection is to whichever answers first, as RFC
// 8305 (Happy Eyeballs) has it: the first that the Resolver returned is tried, a quarter
// of a second later the first of the other family, and so on in turn; the next is tried
// at once when those before have failed. Names are resolved into both families by one
// call, so that what RFC 8305 says of answers that come separately is the Resolver's.
//
// Errors are *net.OpError with Op "dial". They match *net.DNSError when a name was not
// found, the error of each attempt, such as syscall.ECONNREFUSED, when all have
// failed, and os.ErrDeadlineExceeded when the time was over.
type Dialer struct {
	// Group has the connections: a Server's Group method, to have them on that
	// server's workers and ended with it, or another function that returns one. nil:
	// one that all such Dialers of the process share, made with the first use, as
	// Server.Listen makes its own, and never ended. Near goes before it.
	Group func() *conn.Group

	// Near has connections begin on the worker of another one, in whose handler's
	// methods the Dialer must then be used, by Start: a proxy's two sides cost less
	// on the same worker.
	Near *Conn

	// Timeout bounds all of it: resolving, and attempts. 0: Server.Conn.ConnectTimeout.
	Timeout time.Duration

	// Deadline is until when a connection must be there. Zero: none.
	Deadline time.Time

	// FallbackDelay is the time between attempts at different addresses. 0: 250 ms; at
	// least 10 ms. Negative: one after the other, each when the one before has failed,
	// with an equal share of the time, as net.Dialer divides it.
	FallbackDelay time.Duration

	// LocalAddr is the address to dial from: a *net.TCPAddr, *net.UDPAddr or
	// *net.UnixAddr, as the network is. Remote addresses of another family are left
	// out; an unspecified IP address (0.0.0.0, ::) is of both. With port 0, ports are used up for each peer on its own. nil: the system
	// chooses.
	LocalAddr net.Addr

	// KeepAlive is as that of a Server: after how much silence, and then how often,
	// the kernel probes the peer, in whole seconds. 0: 15 s. Negative: never.
	KeepAlive time.Duration

	// Nagle has the kernel gather small writes while others are unacknowledged.
	// false: TCP_NODELAY.
	Nagle bool

	// ReadBuffer and WriteBuffer are the sizes of the kernel's buffers, in bytes. 0: the
	// system's choice.
	ReadBuffer, WriteBuffer int

	// FastOpen has what OnOpen writes go with the first packet, where both systems
	// are willing (TCP Fast Open): OnOpen then comes before the peer has answered,
	// and a refusal as an error of the connection. Only for addresses that are no
	// names, so that there is no choice.
	FastOpen bool

	// Control, if not nil, is called with each socket before it is bound, as
	// net.Dialer.Control is, perhaps on a worker: it must not block.
	Control func(network, address string, c syscall.RawConn) error

	// Proxy, if not nil, is sent before anything else, as a header of the PROXY
	// protocol of version 1 if its Version is 1, else 2. For datagrams it is an error.
	Proxy *proxyproto.Header

	// TLS, if not nil, has connections with a Handler speak TLS: OnOpen is called when
	// hands are shaken, and what is read and written is plaintext, see
	// conn.ConnectTLS. Without a ServerName that is the host of the address dialled.
	// For DialContext and for datagrams it is an error; for DialTLSContext it is not.
	TLS *tls.Config

	// HandshakeTimeout bounds TLS handshakes, from the connection's establishment
	// on. 0: 10 s. Negative: not at all.
	HandshakeTimeout time.Duration

	// Resolver finds what names mean. nil: net.DefaultResolver.
	Resolver Resolver

	// Threads is where names are resolved, since that may block. nil: a pool of up to
	// 64 goroutines that such Dialers of the process share. A pool that was made in a bubble of
	// testing/synctest needs a Group whose workers are in that bubble too.
	Threads *blocking.Pool
}

var errNotServing = errors.New("server: Dialer.Group returned nil: dial when the server serves, as Server.Listening tells")

// resolving is where names are resolved by Dialers that do not say.
var resolving = blocking.New(blocking.Config{MaxThreads: 64, KeepAlive: time.Second})

var sharedGroup = sync.OnceValues(func() (*conn.Group, error) {
	var rc sched.Config
	forGoroutines(&rc)
	g, err := conn.NewGroup(conn.Config{Logger: defaultLogger()}, rc)
	if err == nil {
		err = bubble.Call(g.Runtime().Start) // it outlives the bubble of the first to use it
	}
	return g, err
})

func (d *Dialer) group() (*conn.Group, error) {
	switch {
	case d.Near != nil:
		return d.Near.Group(), nil
	case d.Group == nil:
		return sharedGroup()
	}
	if g := d.Group(); g != nil {
		return g, nil
	}
	return nil, errNotServing
}

func (d *Dialer) threads() *blocking.Pool {
	if d.Threads == nil {
		return resolving
	}
	return d.Threads
}

// Start starts connecting, and returns at once: it may be called from a handler. When the
// connection is established, h.OnOpen is called; if that fails, h.OnClose alone, with the
// error, also that of a name that is not found. The handle is good from now on: what is
// sent waits for the connection, and Close ends the attempt. With an error, which is that
// of an address that cannot be one or of a Dialer that cannot be used, h is not called.
func (d *Dialer) Start(network, addr string, h Handler) (Handle, error) {
	return d.start(context.Background(), network, addr, h)
}

// start is Start, with a context whose values the Resolver gets.
func (d *Dialer) start(ctx context.Context, network, addr string, h Handler) (Handle, error) {
	p, err := d.plan(ctx, network, addr)
	if err != nil {
		return Handle{}, d.opError(network, addr, err)
	}
	return p.group.DialWith(&p.DialConfig, d.overTLS(network, addr, h))
}

// A plan is what one dial needs to know.
type plan struct {
	conn.DialConfig
	group *conn.Group
}

func (d *Dialer) plan(ctx context.Context, network, addr string) (p plan, err error) {
	if p.group, err = d.group(); err != nil {
		return p, err
	}
	if p.Timeout, err = d.remaining(); err != nil {
		return p, err
	}
	p.Delay, p.LocalAddr, p.Near = d.FallbackDelay, d.LocalAddr, d.Near
	p.Control = d.control(false)
	p.Attempt = tracedAttempts(ctx, network)
	if d.Proxy != nil {
		if p.Preface, err = appendHeader(d.Proxy); err != nil {
			return p, err
		}
	}
	if network == "unix" {
		p.Addrs = []net.Addr{&net.UnixAddr{Net: network, Name: addr}}
		return p, nil
	}
	if isPacketNetwork(network) {
		return p, fmt.Errorf("server: %w; use DialContext or what has Packet in its name", unknownNetwork(network))
	}
	name, err := parse(network, addr)
	if err != nil {
		return p, err
	}
	ips, known, err := name.known(d.local())
	switch {
	case err != nil:
		return p, err
	case known:
		p.Addrs = tcpAddrs(ips)
		p.Control = d.control(d.FastOpen && len(ips) == 1)
	default:
		p.Target = target{network, addr}
		p.Find = d.find(ctx, p.group.Runtime(), name)
	}
	return p, nil
}

func appendHeader(h *proxyproto.Header) ([]byte, error) {
	if h.Version == 1 {
		return proxyproto.AppendV1(nil, h)
	}
	return proxyproto.AppendV2(nil, h)
}

// remaining is how long it may take; 0: as the group's configuration has it.
func (d *Dialer) remaining() (time.Duration, error) {
	if d.Timeout < 0 {
		return 0, errTimeout
	}
	limit := d.Timeout
	if !d.Deadline.IsZero() {
		left := time.Until(d.Deadline)
		if left <= 0 {
			return 0, errTimeout
		}
		if limit == 0 || left < limit {
			limit = left
		}
	}
	return limit, nil
}

// A target is an address that is not resolved.
type target struct{ network, addr string }

func (t target) Network() string { return t.network }
func (t target) String() string  { return t.addr }

// opError wraps an error as package net does.
func (d *Dialer) opError(network, addr string, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: network, Source: d.LocalAddr, Addr: target{network, addr}, Err: err}
}

func unknownNetwork(network string) error {
	return net.UnknownNetworkError(network)
}
