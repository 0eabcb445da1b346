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
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// A Dialer connects to other servers by name. The zero value is useful. It may be copied. Any
// number of goroutines and handlers may use it at once, as long as its fields do not change.
//
// The name of a method says what it dials for. With a context it waits, as sched.Await does: in a
// task or in a goroutine. On a worker, with no task's context, it does not begin: the error is
// sched.ErrBlocksWorker. It has two other forms:
//
//	for                          waits                        a future           neither waits
//	a Handler                    DialHandler                  DialHandlerFuture  Start
//	a PacketHandler              DialPacket                   DialPacketFuture
//	a task (Stream)              DialStream                   DialStreamFuture
//	a task (UDPSocket)           DialUDP                      DialUDPFuture
//	a library that has net.Conn  DialContext, DialTLSContext
//
// DialContext and DialTLSContext have the names and signatures of http.Transport's fields, and
// return a net.Conn. Start is no TryX of package syncx: a TryX returns the result or an error,
// while Start only begins. The Handler gets the result: OnOpen, or OnClose with the error.
//
// Networks are "tcp", "tcp4", "tcp6" and "unix". For DialUDP, DialContext and the methods with
// Packet in their names they are "udp", "udp4" and "udp6". Addresses are those of net.Dial:
// "host:port". The host is a name, an IP address, or empty for this machine. The port is a number
// or the name of a service. Names are resolved for each connection; no result is kept.
//
// If a name has several addresses, the connection is to the first one that answers, as RFC 8305
// (Happy Eyeballs) says. The first address that the Resolver returned is tried. After FallbackDelay
// the first of the other family is tried, and so on in turn. The next one is tried at once if all
// before have failed. One call of the Resolver finds the addresses of both families.
//
// All errors are *net.OpError with Op "dial", also those of a future's Poll and of OnClose. They
// match:
//
//   - *net.DNSError, if a name was not found;
//   - the error of each attempt, such as syscall.ECONNREFUSED, if all have failed;
//   - os.ErrDeadlineExceeded and context.DeadlineExceeded, if Timeout, Deadline or the deadline of
//     ctx has passed;
//   - context.Canceled, if ctx was canceled;
//   - sched.ErrCanceled and context.Canceled, if the task was aborted;
//   - net.ErrClosed, if the Group or its Server has ended.
type Dialer struct {
	// Group returns the group to which the connections belong. Set it to a Server's Group method,
	// and they run on that server's workers and end with it. nil: a group that all such Dialers of
	// the process share. It is made at the first use, as Server.Listen makes its own, and never
	// ends. Near has precedence.
	Group func() *conn.Group

	// Near is a connection on whose worker the new ones begin. The Dialer must then be used in
	// methods of that connection's handler, by Start. The two sides of a proxy cost less on one
	// worker.
	Near *Conn

	// Timeout bounds a dial: the resolution of the name and all attempts. 0:
	// Server.ConnConfig.ConnectTimeout.
	Timeout time.Duration

	// Deadline is the time by which a connection must be established. Zero: none.
	Deadline time.Time

	// FallbackDelay is the time between attempts at different addresses. 0: 250 ms. At least 10 ms.
	// Negative: an attempt begins when the one before has failed, with an equal share of the time,
	// as net.Dialer divides it.
	FallbackDelay time.Duration

	// LocalAddr is the address to dial from: a *net.TCPAddr, *net.UDPAddr or *net.UnixAddr, as the
	// network is. Remote addresses of another family are left out. An unspecified IP address
	// (0.0.0.0, ::) is of both families. With port 0 a port may serve several peers at once. nil:
	// the system chooses.
	LocalAddr net.Addr

	// KeepAlive is the silence after which the kernel probes the peer, and the interval of its
	// probes, in whole seconds. 0: 15 s. Negative: it does not probe.
	KeepAlive time.Duration

	// Nagle makes the kernel gather small writes while earlier ones are not acknowledged. false:
	// TCP_NODELAY.
	Nagle bool

	// ReadBuffer and WriteBuffer are the sizes of the kernel's buffers, in bytes. 0: the system
	// chooses.
	ReadBuffer, WriteBuffer int

	// FastOpen sends what OnOpen writes with the first packet, if both systems allow it (TCP Fast
	// Open). OnOpen is then called before the peer has answered, and a refusal is an error of the
	// connection. It is for IP addresses only, so that there is one address to try.
	FastOpen bool

	// Control, if not nil, is called with each socket before it is bound, as net.Dialer.Control is.
	// It may be called on a worker, so it must not block.
	Control func(network, address string, c syscall.RawConn) error

	// Proxy, if not nil, is sent first, as a header of the PROXY protocol: version 1 if its Version
	// is 1, else version 2. For datagrams it is an error.
	Proxy *proxyproto.Header

	// TLS, if not nil, makes connections with a Handler speak TLS. OnOpen is called after the
	// handshake, and the handler reads and writes plaintext, see conn.ConnectTLS. Without a
	// ServerName it is the host of the dialed address. DialContext and dials of datagrams then
	// return an error that matches errors.ErrUnsupported; use DialTLSContext for a net.Conn.
	TLS *tls.Config

	// HandshakeTimeout bounds a TLS handshake, that of DialTLSContext too, from the connection's
	// establishment on. 0: 10 s. Negative: no bound.
	HandshakeTimeout time.Duration

	// Resolver resolves names. nil: net.DefaultResolver.
	Resolver Resolver

	// Threads is the pool on which names are resolved, because that may block. nil: a pool of up to
	// 64 goroutines that such Dialers of the process share. A pool that was made in a bubble of
	// testing/synctest needs a Group whose workers are in that bubble too.
	Threads *blocking.Pool
}

var errNotServing = errors.New("server: Dialer.Group returned nil: dial when the server serves, as Server.Listening tells")

// resolving is the pool on which Dialers without Threads resolve names.
var resolving = blocking.New(blocking.Config{MaxThreads: 64, KeepAlive: time.Second})

var sharedGroup = sync.OnceValues(func() (*conn.Group, error) {
	var rc sched.Config
	forGoroutines(&rc)
	g, err := conn.NewGroup(conn.Config{Logger: defaultLogger()}, rc)
	if err == nil {
		err = bubble.Call(g.Runtime().Start) // the runtime outlives the bubble that first uses it
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

// Start starts connecting, and returns at once, so a handler may call it. When the connection is
// established, h.OnOpen is called. If that fails, h.OnClose alone is called, with the error.
//
// The handle may be used at once. Bytes that are sent wait for the connection, and Close ends the
// attempt. Start returns an error if the address is malformed or the Dialer cannot be used. Then h
// is not called.
func (d *Dialer) Start(network, addr string, h Handler) (Handle, error) {
	return d.start(context.Background(), network, addr, h)
}

// start is Start with a context, whose values the Resolver gets.
func (d *Dialer) start(ctx context.Context, network, addr string, h Handler) (Handle, error) {
	p, err := d.plan(ctx, network, addr)
	if err != nil {
		return Handle{}, d.opError(network, addr, err)
	}
	return p.group.DialWith(&p.DialConfig, d.overTLS(network, addr, h))
}

// A plan holds the settings of one dial.
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
		return p, fmt.Errorf("server: %w; datagrams have DialUDP, DialPacket and DialContext", unknownNetwork(network))
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

// remaining returns how long the dial may take. 0: the group's configuration decides.
func (d *Dialer) remaining() (time.Duration, error) {
	if d.Timeout < 0 {
		return 0, sock.ErrTimeout
	}
	limit := d.Timeout
	if !d.Deadline.IsZero() {
		left := time.Until(d.Deadline)
		if left <= 0 {
			return 0, sock.ErrTimeout
		}
		if limit == 0 || left < limit {
			limit = left
		}
	}
	return limit, nil
}

// A target is an address whose name is not resolved yet.
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
