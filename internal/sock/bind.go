package sock

import "net"

// binds reports whether a socket for remote can be bound to local.
func binds(local *net.TCPAddr, remote net.Addr) (to *net.TCPAddr, ok bool) {
	to, ok = remote.(*net.TCPAddr)
	return to, ok && (anyAddress(local.IP) || (local.IP.To4() == nil) == (to.IP.To4() == nil))
}

// anyAddress reports whether an IP address stands for those of the machine, of both families.
func anyAddress(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }

func mismatched(local net.Addr) error {
	return &net.AddrError{Err: "mismatched local address; use one of the network and family of the remote one", Addr: local.String()}
}
