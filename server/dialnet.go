package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// DialContext connects as net.Dialer.DialContext does. The method fits http.Transport.DialContext
// and similar fields. In a stackful task, with the task's context or one that was derived from it,
// it suspends the task, and the connection is a Stream that is bound to the task. Elsewhere it
// blocks the goroutine, and the connection is a *Socket. For UDP it is a *packet.Socket, which is
// for goroutines. Once it is established, ctx has no effect on it. With Dialer.TLS the error
// matches errors.ErrUnsupported: use DialTLSContext.
//
// A library may pass a task's context to a goroutine of its own. A connection that is dialed there
// is the goroutine's. A library that keeps connections for other tasks must not dial in a task:
// call it on a blocking pool.
//
// A trace of net/http/httptrace in ctx learns of each TCP or Unix attempt to connect, and of the
// queries of a *net.Resolver. Its hooks for attempts are called on a worker, so they must not
// block.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.TLS != nil && !isPacketNetwork(network) { // for packet networks dialPacket returns the error
		return nil, d.opError(network, addr, errPlain)
	}
	return d.dialPlain(ctx, network, addr)
}

var errPlain = fmt.Errorf("server: Dialer.TLS is set, and DialContext is plaintext: use DialTLSContext, or a Dialer without TLS: %w", errors.ErrUnsupported)

// dialPlain is DialContext without the check of Dialer.TLS: DialTLSContext runs TLS over its
// result.
func (d *Dialer) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	if isPacketNetwork(network) {
		s, err := d.dialPacketSocket(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	plain := *d
	plain.TLS = nil
	if cx := sched.FromContext(ctx); cx != nil && cx.Stackful() {
		s, err := plain.DialStream(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	if ctx != nil {
		ctx = sched.WithoutTask(ctx)
	}
	s := conn.NewSocket()
	if _, err := plain.DialHandler(ctx, network, addr, s.Handler()); err != nil {
		_ = s.Close() // it may have received already
		return nil, err
	}
	return s, nil
}
