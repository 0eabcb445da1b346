package hook

import (
	"context"
	"net"
	"syscall"

	"github.com/suiro-go/suiro/server"
)

// Dial is net.Dialer.DialContext. Which options it leaves to package net: Cancel, Control for
// datagrams, by which server.Dialer's own call for those is told, those of
// keep-alive that a server.Dialer does not have, and Multipath TCP if d asks for it.
func Dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error, bool) {
	if !isStream(network) && (!isDatagram(network) || d.Control != nil) || d.Cancel != nil || d.KeepAliveConfig.Enable || d.MultipathTCP() {
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
