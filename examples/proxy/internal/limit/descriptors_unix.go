//go:build unix

package limit

import "syscall"

// descriptors is how many the process may have.
func descriptors() int64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 1024
	}
	return int64(min(uint64(r.Cur), 1<<30)) //nolint:unconvert // Cur is an int64 on FreeBSD
}
