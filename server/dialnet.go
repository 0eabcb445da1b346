package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
)

// DialContext connects for ordinary goroutines. The connection is a *Socket, or for UDP
// a *packet.Socket, and ctx means nothing for it any more once it is established. It
// is what http.Transport.DialContext, and whatever else takes such a function, wants. With
// Dialer.TLS the error matches errors.ErrUnsupported: DialTLSContext is for that.
//
// A trace of net/http/httptrace in ctx is told of each TCP or Unix attempt to connect, on a
// worker, so that its hooks must not block, and of what a *net.Resolver asks.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.TLS != nil && !isPacketNetwork(network) { // else dialPacket refuses it
		return nil, d.opError(network, addr, errPlain)
	}
	return d.dialPlain(ctx, network, addr)
}

var errPlain = fmt.Errorf("server: Dialer.TLS is set, and DialContext is plaintext: use DialTLSContext, or a Dialer without TLS: %w", errors.ErrUnsupported)

// dialPlain is DialContext, for one who puts TLS over it.
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
	if _, err := plain.DialHandler(ctx, network, addr, s.Handler()); err != nil {
		_ = s.Close() // it may have received already
		return nil, err
	}
	return s, nil
}
