//go:build !unix && !windows

package server

import "syscall"

// control has no platform here yet: there is no backend that could connect the socket.
func (d *Dialer) control(bool) func(network, addr string, raw syscall.RawConn) error {
	return d.Control
}
