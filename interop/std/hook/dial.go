package hook

import (
	"context"
	"net"
	"syscall"

	"github.com/suiro-go/suiro/server"
)

// Dial is net.Dialer.DialContext. It leaves these options to package net: Cancel, keep-alive
// options that a server.Dialer does not have, Multipath TCP, and Control for datagrams. That one
// would make the user see server.Dialer's own call.
func Dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error, bool) {
	if !isStream(network) && (!isDatagram(network) || d.Control != nil) || d.Cancel != nil || d.KeepAliveConfig.Enable || d.MultipathTCP() { //nolint:staticcheck // Cancel is deprecated, but users of a Dialer may set it
		return nil, nil, false
	}
	our := server.Dialer{
		Timeout: d.Timeout, Deadline: d.Deadline, LocalAddr: d.LocalAddr, FallbackDelay: d.FallbackDelay,
		KeepAlive: d.KeepAlive, Control: d.Control,
	}
	if d.Resolver != nil {
		our.Resolver = d.Resolver
	}
	if d.ControlContext != nil {
		our.Control = func(network, address string, c syscall.RawConn) error {
			return d.ControlContext(ctx, network, address, c)
		}
	}
	c, err := our.DialContext(ctx, network, address)
	return c, err, true
}

func isDatagram(network string) bool {
	switch network {
	case "udp", "udp4", "udp6":
		return true
	}
	return false
}
