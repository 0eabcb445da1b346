//go:build !linux

package conn

import "net"

func dialSocket(net.Addr, *DialConfig) (int, error) { return -1, errNoBackend }

func quiet(int) bool { return false }
