//go:build !unix && !windows

package conn

import (
	"net"
	"net/netip"
)

// As in socket_other.go.

func packetFD(*net.UDPConn) (int, error) { return -1, errNoBackend }

func dialPacket(netip.AddrPort) (int, error) { return -1, errNoBackend }

func inspectPacket(int) (local, peer netip.AddrPort, kind socketKind) { return }

func setMembership(int, *net.Interface, netip.Addr, bool) error { return errNoBackend }

func setMulticastInterface(int, bool, *net.Interface) error { return errNoBackend }

func setMulticastTTL(int, bool, int) error { return errNoBackend }

func setMulticastLoopback(int, bool, bool) error { return errNoBackend }

func wantDestination(int, bool, bool) error { return errNoBackend }

func wantCoalesced(int, bool) error { return errNoBackend }
