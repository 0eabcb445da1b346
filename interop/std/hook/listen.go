package hook

import (
	"net"

	"github.com/suiro-go/suiro/server"
)

// listening has all listeners of Listen: they share its workers.
var listening server.Server

// Listen is net.ListenConfig.Listen. Which options it leaves to package net: Control, since
// server.Listen's own call of ListenConfig.Listen is told by it, and those of keep-alive that a
// Server does not have. Of Multipath TCP lc cannot say whether it was asked for; it is the
// default, also for server.Listen.
func Listen(lc *net.ListenConfig, network, address string) (net.Listener, error, bool) {
	if !isStream(network) || lc.Control != nil || lc.KeepAlive != 0 || lc.KeepAliveConfig.Enable {
		return nil, nil, false
	}
	ln, err := listening.Listen(network, address)
	return ln, err, true
}

func isStream(network string) bool {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
		return true
	}
	return false
}
