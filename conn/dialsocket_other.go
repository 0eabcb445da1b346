//go:build !unix && !windows

package conn

import "net"

func bindFor(int, net.Addr, net.Addr) error { return errNoBackend }

func quiet(int) bool { return false }
