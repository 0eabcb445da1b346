package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
)

// DialContext connects for ordinary goroutines. The connection is a *Socket, or for UDP a
// *packet.Socket. Once it is established, ctx has no effect on it. The method fits
// http.Transport.DialContext and similar fields. With Dialer.TLS the error matches
// errors.ErrUnsupported: use DialTLSContext.
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
	s, plain := conn.NewSocket(), *d
	plain.TLS = nil
	if _, err := plain.DialHandlerContext(ctx, network, addr, s.Handler()); err != nil {
		_ = s.Close() // it may have received already
		return nil, err
	}
	return s, nil
}
