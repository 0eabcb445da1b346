//go:build !unix

package conn

import "net"

func dialSocket(net.Addr, *DialConfig) (int, error) { return -1, errNoBackend }

func quiet(int) bool { return false }
