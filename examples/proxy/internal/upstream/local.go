package upstream

import (
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
)

// shortages are errors of a connection attempt that lacks something of this machine: descriptors,
// memory, or a free port.
var shortages = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL}

func shortage(err error) bool {
	return slices.ContainsFunc(shortages, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// local reports whether an attempt has failed for a reason that is not the upstream's.
func local(err error) bool { return shortage(err) || unresolved(err) && shortage(open()) }

// unresolved reports whether a name was not resolved because no name server could be asked. Package
// net keeps the errno only as text, so local looks whether there are descriptors at all.
func unresolved(err error) bool {
	var d *net.DNSError
	return errors.As(err, &d) && d.IsTemporary && !d.IsTimeout
}

// open is why no descriptor can be opened, or nil.
func open() error {
	f, err := os.Open(os.DevNull)
	if err == nil {
		_ = f.Close()
	}
	return err
}
