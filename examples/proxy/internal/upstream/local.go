package upstream

import (
	"errors"
	"slices"
	"syscall"
)

// shortages are errors of a connection attempt that lacks something of this machine: descriptors,
// memory, or a free port.
var shortages = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL}

// local reports whether an attempt has failed for a reason that is not the upstream's.
func local(err error) bool {
	return slices.ContainsFunc(shortages, func(e syscall.Errno) bool { return errors.Is(err, e) })
}
