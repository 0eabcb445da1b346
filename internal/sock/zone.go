package sock

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// zoned is an address as a socket gives it: one of IPv4 may come as one of IPv6, and a zone as
// a number.
func zoned(ip [16]byte, zone uint32) netip.Addr {
	a := netip.AddrFrom16(ip)
	if a.Is4In6() {
		return a.Unmap()
	}
	if zone != 0 {
		if ifi, err := net.InterfaceByIndex(int(zone)); err == nil {
			return a.WithZone(ifi.Name)
		}
	}
	return a
}

// zoneOf is the number of a zone, which is the name of an interface or its number. "" is 0.
func zoneOf(name string) (uint32, error) {
	if name == "" {
		return 0, nil
	}
	ifi, err := net.InterfaceByName(name)
	if err == nil {
		return uint32(ifi.Index), nil
	}
	if n, e := strconv.ParseUint(name, 10, 32); e == nil {
		return uint32(n), nil
	}
	return 0, err
}

// groupInterface is the index of the interface on which to join an IPv6 group: that of ifi, or else
// of the group's zone; 0: the system chooses.
func groupInterface(ifi *net.Interface, group netip.Addr) (uint32, error) {
	if ifi != nil {
		return uint32(ifi.Index), nil
	}
	index, err := zoneOf(group.Zone())
	if err != nil {
		return 0, fmt.Errorf("zone %q: %w: %w", group.Zone(), syscall.ENODEV, err)
	}
	return index, nil
}
